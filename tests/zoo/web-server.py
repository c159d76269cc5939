# A web server and two clients that ask it all the time.
# @state healthy
# @group 2
import http.server, os, signal, threading, time, urllib.request

class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass
os.chdir("/usr/share")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
port = server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()
for _ in range(2):
    if os.fork() == 0:
        while True:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/").read()
            time.sleep(0.005)
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    time.sleep(1)
