"""Reads public headers with OpenCV's own binding parser: parse_headers.py FOLDER_OF_HDR_PARSER HEADER...

Fails where the parser gives up, and where a class or function that is marked for export did not come out of it.
"""
import re
import sys

sys.path.insert(0, sys.argv[1])
import hdr_parser  # noqa: E402


def main():
    failed = False
    for header in sys.argv[2:]:
        try:
            parser = hdr_parser.CppHeaderParser(generate_umat_decls=True, generate_gpumat_decls=True)
            declarations = parser.parse(header)
        except (Exception, SystemExit) as error:
            print(f"{header}: the parser gave up: {error}")
            failed = True
            continue
        with open(header, encoding="utf-8") as source:
            text = re.sub(r"//[^\n]*|/\*.*?\*/", "", source.read(), flags=re.S)
        names = [re.sub(r"^(class|struct|enum) ", "", declaration[0]).split(".")[-1] for declaration in declarations]
        exported = re.findall(r"\b(?:class|struct)\s+CV_EXPORTS_W\w*\s+(\w+)\s*(?=[:{])", text)
        exported += re.findall(r"\bCV_WRAP\b[^;{(]*?(\w+)\s*\(", text)
        for name in sorted(set(exported) - set(names)):
            print(f"{header}: {name} is marked for export, but did not come out of the parser")
            failed = True
    return failed


sys.exit(main())
