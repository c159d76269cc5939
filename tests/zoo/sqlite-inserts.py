# A database on disk that inserts and commits.
# @state healthy
# @group 6
import os, sqlite3, time

db = sqlite3.connect(os.environ["ZOO_WORK"] + "/db")
db.execute("create table t(a integer primary key, b text)")
print("ready", flush=True)
while True:
    db.executemany("insert into t(b) values(?)", [("x" * 200,)] * 200)
    db.commit()
    db.execute("delete from t where a < (select max(a) from t) - 20000")
    time.sleep(0.02)
