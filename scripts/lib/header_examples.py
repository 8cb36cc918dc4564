"""Prints the C++ examples of public headers as one source file: header_examples.py HEADER...

An example stands between @code and @endcode. Each gets a namespace of its own. Fails where a header has none.
"""
import re
import sys


def main():
    print('#include "opencv2/cudatracking.hpp"\n#include <iostream>')
    failed = False
    for header in sys.argv[1:]:
        with open(header, encoding="utf-8") as source:
            text = source.read()
        examples = list(re.finditer(r"^ *@code *\n(.*?)^ *@endcode", text, re.M | re.S))
        if not examples and "class CV_EXPORTS_W" in text:
            print(f"{header}: no @code example", file=sys.stderr)
            failed = True
        for example in examples:
            line = text[:example.start(1)].count("\n") + 1
            print(f'namespace example_{line} {{\n#line {line} "{header}"\n{example.group(1)}}}')
    return failed


sys.exit(main())
