"""What ``/`` says to a person: what runs here, and how to ask it."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>hostcall</title>
<meta name="viewport" content="width=device-width">
<style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }</style>
<h1>hostcall</h1>
<p>A chat service runs here: OpenAI's interface, with a web search and a page reader
whose every step can be checked.</p>
<pre>curl -N http://HOST/v1/chat/completions -H 'Content-Type: application/json' -d '{
  "stream": true, "thor_web_search": true,
  "messages": [{"role": "user", "content": "How do I start a thread in Python?"}]}'</pre>
<p>Any OpenAI client works: its base URL is this address with <code>/v1</code>.
<a href="/openapi.json">The whole interface</a> · <a href="/healthz">Health</a></p>
</html>
"""
