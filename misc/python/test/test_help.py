"""What help() shows of the module's classes: OpenCV's binding generator carries the headers' comments of methods, but none of
classes, structs, members and enumerations. So create() also says what its class does, and has an example.
"""
import doctest
import os
import re
import unittest

import cv2
import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
CASCADE = os.path.join(os.environ.get("CUDATRACKING_CASCADES", ""), "haarcascades", "haarcascade_frontalface_default.xml")
CLASSES = (cv2.cuda.FragmentMatcher, cv2.cuda.QuickShift, cv2.cuda.CascadeClassifierEx, cv2.cuda.TLDDetector, cv2.cuda.TrackerTLD,
           cv2.cuda.MultiTrackerTLD, cv2.cuda.QuickShiftTiles)


def methods(cls):
    """Name, prototype and text of each method that the class itself has."""
    for name in vars(cls):
        member = getattr(cls, name)
        if name.startswith("_") or isinstance(member, type) or not callable(member):
            continue
        prototype, _, text = member.__doc__.partition("\n")
        yield name, prototype, "\n".join(line.lstrip(".").strip() for line in text.split("\n")).strip()


def parameters(prototype):
    """Names of the inputs, and of those that may be left out: 'f(a[, out[, b]]) -> out' gives [a, b], [b]."""
    inside, _, results = prototype.partition("(")[2].partition(") -> ")
    results = {name.strip() for name in results.split(",")}
    required, _, optional = inside.partition("[")
    names = lambda part: re.findall(r"\w+", part)
    given = [name for name in names(optional) if name not in results]  # what is required and comes back is an input, too
    return names(required) + given, given


def entries(text):
    """{parameter: what '@param parameter' and '@param other,parameter' say}"""
    found = {}
    for names, body in re.findall(r"@param ([\w,]+)(.*?)(?=@\w|\Z)", text, re.S):
        for name in names.split(","):
            found[name] = body
    return found


class HelpTest(unittest.TestCase):
    def test_every_method_has_text(self):
        for cls in CLASSES:
            all_methods = list(methods(cls))
            self.assertGreater(len(all_methods), 8 if cls is cv2.cuda.QuickShiftTiles else 10)
            for name, prototype, text in all_methods:
                with self.subTest(method=f"{cls.__name__}.{name}"):
                    self.assertTrue(prototype.startswith(name + "("), prototype)
                    self.assertRegex(text, r"^@brief \w[^@]{10,}")
                    self.assertNotRegex(text, r"[Aa]s in \w+\(|\barguments? of \w+\(", "help() shows one method: its text is complete")

    def test_create_tells_about_its_class(self):
        for cls in CLASSES:
            with self.subTest(cls.__name__):
                text = dict((name, text) for name, _, text in methods(cls))["create"]
                introduction = text.partition("@param")[0]
                self.assertGreater(len(introduction.split()), 60)
                self.assertRegex(introduction, r"@code\{\.py\}\n>>> ")
                self.assertIn("threads", introduction)

    def test_examples_print_what_they_say(self):
        for cls in CLASSES:
            text = re.sub(r"^\.   ", "", "\n".join(getattr(cls, name).__doc__ for name, _, _ in methods(cls)), flags=re.M)
            for code in re.findall(r"@code\{\.py\}\n(.*?)@endcode", text, re.S):
                with self.subTest(cls.__name__):
                    names = {"cv2": cv2, "np": np}
                    if "cascade)" in code:
                        if not os.path.isfile(CASCADE):
                            self.skipTest("CUDATRACKING_CASCADES is not set")
                        names.update(cascade=CASCADE, image=cv2.imread(os.path.join(ROOT, "doc", "pics", "astronaut.jpg")))
                    example, said = doctest.DocTestParser().get_doctest(code, names, cls.__name__, None, 0), []
                    self.assertGreater(len(example.examples), 1)
                    failed = doctest.DocTestRunner(verbose=False).run(example, out=said.append).failed
                    self.assertEqual(failed, 0, "".join(said))

    def test_every_parameter_has_text_and_its_default(self):
        for cls in CLASSES:
            for name, prototype, text in methods(cls):
                inputs, optional = parameters(prototype)
                said = entries(text)
                for parameter in inputs:
                    with self.subTest(parameter=f"{cls.__name__}.{name}({parameter})"):
                        self.assertIn(parameter, said)
                        self.assertRegex(said[parameter], r"\w")
                        if parameter in optional:
                            self.assertRegex(said[parameter], r"[Dd]efault")

    def test_parameters_are_read_off_prototypes(self):
        self.assertEqual(parameters("f(a, b[, out[, c[, d]]]) -> retval, out"), (["a", "b", "c", "d"], ["c", "d"]))
        self.assertEqual(parameters("f() -> None"), ([], []))
        self.assertEqual(entries("@brief x\n@param a,b one\ntwo\n@param c three @return d"),
                         {"a": " one\ntwo\n", "b": " one\ntwo\n", "c": " three "})

    def test_defaults_are_true(self):
        quick_shift, matcher = cv2.cuda.QuickShift.create(), cv2.cuda.FragmentMatcher.create()
        said = entries(dict((name, text) for name, _, text in methods(cv2.cuda.QuickShift))["create"])
        for parameter, value in (("sigma", quick_shift.getSigma()), ("maxDist", quick_shift.getMaxDist())):
            self.assertEqual(float(re.search(r"Default ([\d.]+?)\.?\s*$", said[parameter]).group(1)), value, parameter)
        self.assertRegex(said["colorScale"], r"Default BY_TYPE\.\s*$")
        self.assertEqual(quick_shift.getColorScale(), cv2.cuda.QuickShift_BY_TYPE)
        said = entries(dict((name, text) for name, _, text in methods(cv2.cuda.FragmentMatcher))["create"])["params"]
        members = [name for name in dir(matcher.getParams()) if not name.startswith("_")]
        self.assertEqual(len(members), 8)
        for member in members:
            value = getattr(matcher.getParams(), member)
            line = re.search(rf"^{member}: (.*?)(?=^\w+: |\Z)", said, re.M | re.S).group(1)
            if member in ("metric", "exclusion", "subpixelFit", "search"):
                self.assertIn(f"({value}, default)", line)
            else:
                self.assertIn(f"default {value}", " ".join(line.split()).replace("default: ", "default "))

    def test_parameters_of_tld_are_true(self):
        said = entries(dict((name, text) for name, _, text in methods(cv2.cuda.TrackerTLD))["create"])["params"]
        members = [name for name in dir(cv2.cuda.TLDParams()) if not name.startswith("_")]
        self.assertEqual(len(members), 44)
        for member in members:
            with self.subTest(member=member):
                line = re.search(rf"^{member}: (.*?)(?=^\w+: |\Z)", said, re.M | re.S).group(1)
                kind, lowest, highest, default = re.match(
                    r"(bool|int|float)(?:, ([\d.]+) (?:to ([\d.]+)|or more))?;.*Default ([\w.]+?)\.?\s*$", line, re.S).groups()
                value = getattr(cv2.cuda.TLDParams(), member)
                self.assertEqual(type(value).__name__, kind)
                if kind == "bool":
                    self.assertEqual(str(value), default)
                    continue
                self.assertAlmostEqual(value, float(default), 6)
                step = {"int": 1, "float": 1e-3}[kind]
                for limit, outside in ((lowest, -step), (highest, step)):
                    if limit is None:
                        continue
                    params = cv2.cuda.TLDParams()
                    params.features = 1  # so that any number of trees is allowed
                    number = {"int": int, "float": float}[kind](float(limit))
                    if not (member == "minWindow" and outside < 0):  # 0 is allowed too
                        setattr(params, member, number + outside)
                        with self.assertRaisesRegex(cv2.error, rf"\b{member}\b"):
                            cv2.cuda.TrackerTLD.create(params)
                    setattr(params, member, number)
                    cv2.cuda.TrackerTLD.create(params)

    def test_objects_are_made_by_create(self):
        """Python makes an object of any class; without create() there is nothing in it, and its methods say so."""
        for cls in CLASSES:
            empty, called = cls(), 0
            for name, prototype, _ in methods(cls):
                if not parameters(prototype)[0] and not isinstance(vars(cls)[name], staticmethod):
                    with self.subTest(method=f"{cls.__name__}.{name}"), self.assertRaisesRegex(TypeError, "Incorrect type of self"):
                        getattr(empty, name)()
                    called += 1
            self.assertGreater(called, 2)

    def test_every_enum_value_has_its_name_and_meaning(self):
        for cls in CLASSES:
            text = "\n".join(text for _, _, text in methods(cls))
            prefix = cls.__name__ + "_"
            constants = {name[len(prefix):]: value for name, value in vars(cv2.cuda).items()
                         if name.startswith(prefix) and isinstance(value, int)}
            self.assertGreaterEqual(len(constants), 0 if cls in (cv2.cuda.TLDDetector, cv2.cuda.MultiTrackerTLD, cv2.cuda.QuickShiftTiles) else 2)
            for name, value in constants.items():
                self.assertRegex(text, rf"\b{name} \({value}[,)]", f"{prefix}{name}")


if __name__ == "__main__":
    unittest.main()
