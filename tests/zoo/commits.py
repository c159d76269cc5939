# A small database that commits each of its changes, as it should.
# @state healthy
# @group 6
import os, signal, sqlite3

db = sqlite3.connect(os.environ["ZOO_WORK"] + "/db")
db.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, text TEXT)")
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ready", flush=True)
while True:
    db.execute("INSERT INTO events (text) VALUES ('something')")
    db.commit()
