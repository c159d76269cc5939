#!/usr/bin/python3
"""Reads a page of -o html. page.py json FILE: its reports as -o json prints them, one a line, with each
stack as text. page.py check FILE: says what must not be in a page, and fails if there is any of it.
page.py text FILE: what is shown without scripts. page.py parts FILE: of each table whose rows are known in
parts of the time, a line for each part: its command and table, from when to when, and the sums of columns."""
import base64, hashlib, html.parser, json, re, sys, zlib

TAGS = set("""html head meta link title style body a header span nav main section h1 h2 h3 p dl dt dd div
    noscript table thead tbody tr th td ul li code article details summary footer script""".split())
EMPTY = {"meta", "link"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "rel", "href", "class", "id", "data-command",
              "aria-label", "type", "hidden"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.problems, self.open, self.data, self.texts = [], [], [], []
        self.scripts, self.styles, self.policy = [], [], None
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"left open: {self.open}")

    def handle_starttag(self, tag, attributes):
        if tag not in TAGS:
            self.problems.append(f"<{tag}>")
        for name, value in attributes:
            if name not in ATTRIBUTES:
                self.problems.append(f"<{tag} {name}>")
            if name == "href" and not re.fullmatch(r"#\w+|data:,", value):
                self.problems.append(f"a link to {value}")
        a = dict(attributes)
        if a.get("http-equiv") == "Content-Security-Policy":
            self.policy = a["content"]
        if tag not in EMPTY:
            self.open.append((tag, a.get("class")))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop()[0] != tag:
            self.problems.append(f"</{tag}> closes something else")

    def handle_data(self, text):
        at = self.open[-1] if self.open else (None, None)
        if at == ("script", "data"):
            self.data.append(text)
        elif at[0] == "script":
            self.scripts.append(text)
        elif at[0] == "style":
            self.styles.append(text)
        elif text.strip():
            self.texts.append(text)

    def handle_comment(self, text):
        if text != " memwhy report ":
            self.problems.append(f"a comment: {text:.80}")

    def check(self):
        def digest(text):
            return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        want = ("default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src "
                + " ".join(map(digest, self.styles)) + "; script-src " + " ".join(map(digest, self.scripts)))
        if self.policy != want:
            self.problems.append(f"the policy is {self.policy}, not {want}")
        for data in self.data:
            if not re.fullmatch(r"[A-Za-z0-9+/]+=*", data):
                self.problems.append("data that is no base64")
        return self.problems


def report_of(packed):
    data = json.loads(zlib.decompress(base64.b64decode(packed), -15))
    frames = [line[0] + line[1] for line in data["frames"]]
    stacks = [[frames[i] for i in stack] for stack in data["stacks"]]
    of_stacks = {t["name"]: [c["name"] for c in t["columns"] if c["type"] == "stack"] for t in data["tables"]}
    for row in data["report"]["rows"]:
        for name in of_stacks[row["table"]]:
            if row[name] is not None:
                row[name] = stacks[row[name]]
    return data["report"]


def parts_of(packed):
    data, at = json.loads(zlib.decompress(base64.b64decode(packed), -15)), 0
    for t in data["tables"]:
        rows = data["report"]["rows"][at:at + t["count"]]
        at += t["count"]
        if "parts" not in t:
            continue
        ends, columns, wide = t["parts"]["ends"], t["parts"]["columns"], len(t["parts"]["columns"]) + 1
        sums = [dict.fromkeys(columns, 0) for _ in ends]
        for row, numbers in zip(rows, t["parts"]["rows"], strict=True):
            of_row = dict.fromkeys(columns, 0)
            for i in range(0, len(numbers), wide):
                for name, n in zip(columns, numbers[i + 1:i + wide], strict=True):
                    sums[numbers[i]][name] += n
                    of_row[name] += n
            assert all((row[name] or 0) == n for name, n in of_row.items()), (t["name"], row, of_row)
        for i, end in enumerate(ends):
            yield {"command": data["report"]["command"], "table": t["name"], "from": ends[i - 1] if i else 0, "to": end, "sums": sums[i]}


what, name = sys.argv[1:]
page = Page(open(name, encoding="utf-8", newline="").read())
if what == "json":
    for packed in page.data:
        print(json.dumps(report_of(packed)))
elif what == "parts":
    for packed in page.data:
        for part in parts_of(packed):
            print(json.dumps(part))
elif what == "text":
    print("\n".join(page.texts))
else:
    for problem in page.check():
        print(f"{name}: {problem}")
    sys.exit(len(page.problems) > 0)
