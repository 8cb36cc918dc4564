"""Filter of doc/Doxyfile: prints a page with the anchors that forges give to headings, made unique by the page's path, and with
links to them. Doxygen gives such anchors from version 1.10 on only, and not unique ones. Links to files that are not among
doxygen's pages become their paths. Code with an apostrophe gets two backticks, as doxygen takes one for a quotation mark.
"""
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGES, IMAGES = (".md", ".markdown"), (".jpg", ".png")  # kinds of file that doxygen can link to


def slug(heading):
    """Returns the anchor that forges give to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchor(page, heading):
    return re.sub(r"\W", "_", os.path.splitext(page)[0]) + "__" + slug(heading)


def link(text, target, page):
    text = text.replace("`", "")
    if "://" in target:
        return f"[{text}]({target})"
    target, _, heading = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
    if heading:
        return f"[{text}](#{anchor(path, heading)})"
    if path.endswith(IMAGES):
        return f"[{text}]({os.path.basename(path)})"
    if path == "README.md":
        return f"[{text}](@ref index)"
    if not path.endswith(PAGES):
        return f"{text} (`{path}`)"
    return f"[{text}]({target})"


def code(span):
    span = " ".join(span.split())
    return f"`{span}`" if "'" in span else span


def main():
    page = os.path.relpath(os.path.abspath(sys.argv[1]), ROOT)
    with open(sys.argv[1], encoding="utf-8") as file:
        parts = re.split(r"(^```.*?^```)", file.read(), flags=re.S | re.M)
    for i in range(0, len(parts), 2):  # the others are code
        parts[i] = re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", lambda match: link(match.group(1), match.group(2), page), parts[i])
        parts[i] = re.sub(r"`[^`]+`", lambda match: code(match.group()), parts[i])
        parts[i] = re.sub(r"^(#+) (.*)$", lambda match: f"{match.group()} {{#{anchor(page, match.group(2))}}}", parts[i],
                          flags=re.M)
    print("".join(parts), end="")


if __name__ == "__main__":
    main()
