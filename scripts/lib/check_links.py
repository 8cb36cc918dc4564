"""Checks the links of HTML files: each leads to a file that is there, and to a place that the file has. Web addresses are not checked.

    check_links.py FOLDER
"""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.places.add(value)
            elif value and name in ("href", "src", "data"):
                self.links.append((self.getpos()[0], value))


def main():
    top = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(top.rglob("*.html"))}
    count, bad = 0, []
    for path, page in pages.items():
        for line, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.exists():
                bad.append(f"{path.relative_to(top)}:{line}: {link}: there is no such file")
            elif place and target in pages and place not in pages[target].places:
                bad.append(f"{path.relative_to(top)}:{line}: {link}: the page has no such place")
    print("\n".join([*bad, f"{len(pages)} pages, {count} links, {len(bad)} wrong"]), file=sys.stderr)
    sys.exit(1 if bad or not count else 0)


main()
