"""The chat service: an OpenAI-compatible host on the trio driver.

::

    run ─► server ─► app ─► access, asked ─► answering ─► chunks      with thor_web_search
     │                 └──────────────────► passing                  without it
     └─ settings

Each answer is an `Answer` carried out by `TrioDriver`; everything about tools, budgets and addresses is the core's.
"""
