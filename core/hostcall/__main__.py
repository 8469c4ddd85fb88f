"""``python -m hostcall``: the one place where both halves meet."""

import sys


def main() -> int:
    """Run the command line, or say what it needs."""
    try:
        from hostcall_drivers.cli import main as run
    except ImportError as error:
        missing = error.name or "a library"
        print(f"hostcall: the command line needs {missing}: pip install 'hostcall[cli]'", file=sys.stderr)  # noqa: T201 - the command line's own words
        return 2
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
