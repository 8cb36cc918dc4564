"""Proves that check_sources.py finds each kind of breach, and leaves alone what only looks like one."""
import tempfile
import unittest
from pathlib import Path

from check_sources import BESIDE, CHECKS, DEFINITION


class CheckSources(unittest.TestCase):
    def findings(self, check, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return list(CHECKS[check](Path(folder)))

    def expect(self, check, name, bad, good):
        for text in bad:
            self.assertEqual(len(self.findings(check, {name: text})), 1, text[:200])
        for text in good:
            self.assertEqual(self.findings(check, {name: text}), [], text[:200])

    def test_walls(self):
        def including(*names):
            return "".join(f'#include "{name}"\n' for name in names)
        self.expect("walls", "src/tld/core.hpp",
                    [including("../cascade/core.hpp"), including("opencv2/cudatracking/cascade.hpp"), including("../cpu/tld/images.hpp"),
                     including("../cuda/tld/plan.hpp"), including("../../test/tld/scenes.hpp")],
                    [including("stages.hpp", "../common/views.hpp", "opencv2/cudatracking/tld.hpp", "opencv2/core.hpp")])
        self.expect("walls", "src/cpu/tld/engine.cpp",
                    [including("../../cuda/tld/plan.hpp"), including("../cascade/classify.hpp"), including("../../cascade/core.hpp"),
                     "void f() { gpu::flow(); }\n"],
                    [including("images.hpp", "../../tld/stages.hpp", "../../common/views.hpp", "cpu/tld/loops.simd_declarations.hpp"),
                     "// as gpu::flow()\nvoid f() { cpu::flow(); }\n"])
        self.expect("walls", "src/cuda/quick_shift/density.cu",
                    [including("../cascade/tuning.hpp"), including("../../cpu/quick_shift/scratch.hpp"), "void f() { cpu::pack(); }\n"],
                    [including("tuning.hpp", "../../quick_shift/stages.hpp", "../../common/launch.hpp")])
        self.expect("walls", "src/common/views.hpp", [including("../tld/core.hpp"), including("../cuda/tld/plan.hpp")], [including("launch.hpp")])
        self.expect("walls", "test/tld/api.cpp", [including("../cascade/scenes.hpp"), including("../../src/cascade/core.hpp")],
                    [including("scenes.hpp", "../common/faults.hpp", "../../src/tld/core.hpp", "../../src/cuda/tld/plan.hpp")])
        self.expect("walls", "test/common/threads.cpp", [], [including("../cascade/scenes.hpp", "../tld/scenes.hpp")])

    def test_anatomy(self):
        files = {name.format(algorithm="tld"): "" for name in [f"src/tld/{name}" for name in DEFINITION] + list(BESIDE)}
        self.assertEqual(self.findings("anatomy", files), [])
        self.assertEqual(self.findings("anatomy", {"src/common/views.hpp": ""}), [])
        for name in files:
            if name.startswith("src/tld/") and name != "src/tld/core.hpp":
                less = {other: text for other, text in files.items() if other != name}
                self.assertEqual(len(self.findings("anatomy", less)), 1, name)
        for name, bad, good in (
                ("core.hpp", ["cv::Size s;\n", "void f(cudaStream_t s);\n", '#include "opencv2/core.hpp"\n'], ["// no Mat\nstruct Rect4 {};\n"]),
                ("engine.hpp", ["virtual void f(InputArray a) = 0;\n", "GpuMat spare;\n"], ["virtual void f(const OutputView& out) = 0;\n"]),
                ("stages.hpp", ["void f(OutputArray a);\n", "struct TilePlan\n{\n};\n", "size_t sharedBytes;\n"],
                 ["struct TilePlan;\nvoid f(const TilePlan& plan);\n"])):
            for text in bad:
                self.assertEqual(len(self.findings("anatomy", {**files, f"src/tld/{name}": text})), 1, text[:100])
            for text in good:
                self.assertEqual(self.findings("anatomy", {**files, f"src/tld/{name}": text}), [], text[:100])
        self.assertEqual(len(self.findings("anatomy", {"src/cuda/helpers.cu": ""})), 1)
        self.assertEqual(len(self.findings("anatomy", {**files, "src/tld/flow.cu": ""})), 1)
        self.assertEqual(self.findings("anatomy", {**files, "src/cuda/tld/flow.cu": ""}), [])

    def test_routes(self):
        folder = "src/cuda/fragment_matcher/"
        files = {folder + "routes.cpp": "const Route* const ROUTES[] = {&FAST, &SLOW};\n", folder + "a/fast.cpp": "const Route FAST = {};\n",
                 folder + "b/slow.cpp": "extern const Route SLOW;\nconst Route SLOW = {};\n", folder + "choose.cpp": "// FAST\nint x;\n"}
        self.assertEqual(self.findings("routes", files), [])
        for name, text in ((folder + "choose.cpp", "f(FAST);\n"), (folder + "b/slow.hpp", "case FAST:\n"), (folder + "common/more.cpp", "const Route MORE = {};\n"),
                           (folder + "a/more.cpp", "const Route MORE = {};\n")):
            self.assertTrue(self.findings("routes", {**files, name: text}), name)

    def test_suites(self):
        self.expect("suites", "test/tld/api.cpp",
                    ["TEST(TLD_Api, name)\n{\n}\n", "TEST(Cascade_Api, name) {}\n", "TEST_P(Tld_CUDA, name)\n{\n}\n", "TEST(Tld, name)\n{\n}\n",
                     "TEST(Tld_Api, name)\n{\n    requireCuda();\n}\n", "TEST(Tld_CudaApi, name)\n{\n    f(freeDeviceMemory());\n}\n",
                     "class Tld_Api : public testing::Test\n{\n    void SetUp() override { requireCuda(); }\n};\nTEST_F(Tld_Api, name)\n{\n}\n"],
                    ["TEST(Tld_Api, name)\n{\n}\n", "TEST(Tld_CudaApi, name)\n{\n    requireCuda();\n}\n", "TEST(Tld_Api, nameOnCuda)\n{\n    requireCuda();\n}\n",
                     "TEST(Tld_CudaApi, nameAlone)\n{\n    f(freeDeviceMemory());\n}\n", "// TEST(Api, name)\nvoid f()\n{\n    requireCuda();\n}\n"])
        self.expect("suites", "test/common/threads.cpp", ["TEST(Threads_Cases, name)\n{\n}\n"], ["TEST(Common_Threads, name)\n{\n}\n"])

    def test_base_layer(self):
        self.expect("base-layer", "src/cuda/tld/flow.cu", ["k<<<1, 32>>>();\n", "cudaFuncSetAttribute(k, a, 1);\n", "cudaMalloc(&p, 4);\n"],
                    ["// k<<<1, 32>>>()\n", 'launch("k", k, grid, block, 0, stream);\n', "cudaMemsetAsync(p, 0, 4, stream);\n"])
        self.expect("base-layer", "src/cpu/tld/engine.cpp", ["static thread_local int x;\n"], ["detail::ScratchPool<Scratch> pool;\n"])
        self.expect("base-layer", "src/common/workspace.cpp", [], ["cudaMalloc(&p, 4);\n"])

    def test_locks(self):
        header = "class CV_EXPORTS_W Tracker : public Algorithm\n{\n};\n"

        def inside(body, base="Tracker", method="int get() const override"):
            return {"include/a.hpp": header,
                    "src/tld/tld.cpp": f"class Impl final : public {base}, public detail::Lockable<Impl>\n{{\npublic:\n    {method}\n"
                                       f"    {{\n        {body}\n    }}\n    int value_ = 0;\n}};\n"}

        def outside(body):
            return {"include/a.hpp": header,
                    "src/tld/impl.hpp": "class Impl final : public Tracker\n{\npublic:\n    Impl();\n    void set(const int (&a)[2],\n"
                                        "             int b) override;\n    void other();\n};\n",
                    "src/tld/tld.cpp": f"Impl::Impl()\n{{\n    x();\n}}\nvoid Impl::other() {{ x(); }}\n"
                                       f"void Impl::set(const int (&a)[2], int b)\n{{\n    {body}\n}}\n"}
        for body in ("const auto lock = locked();\n        return value_;", "return locked()->value_;", "return f(locked()->value_);", "save(*locked(), f());",
                     "return locked()->objects_.get(find());", "return false;"):
            self.assertEqual(self.findings("locks", inside(body)), [], body)
            self.assertEqual(self.findings("locks", outside(body)), [], body)
        for body in ("return value_;", "locked();\n        return value_;", "return locked()->value_ + other_;", "return get();", "return 1 + value_;", "",
                     "x();\n        const auto lock = locked();", "locked()->x();\n        y();", "if (value_)\n            locked()->x();",
                     "// const auto lock = locked();\n        x();", "const auto lock = other.locked();"):
            self.assertEqual(len(self.findings("locks", inside(body))), 1, body)
            self.assertEqual(len(self.findings("locks", outside(body))), 1, body)
        self.assertEqual(self.findings("locks", inside("return value_;", method="int get() const")), [])
        self.assertEqual(self.findings("locks", inside("return value_;", base="Engine")), [])
        self.assertEqual(len(self.findings("locks", inside("return value_;", base="cuda::Tracker"))), 1)

    def test_gil(self):
        self.expect("gil", "misc/python/a.hpp",
                    ["int f()\n{\n    const int any = 0, count = (*matcher)->getFragmentCount();\n}\n", "int f()\n{\n    return pointer->get()->count();\n}\n"],
                    ["int f()\n{\n    ERRWRAP2(count = (*matcher)->getFragmentCount());\n}\n", "bool f()\n{\n    return pointer->get() && library->describe(a, &b);\n}\n"])

    def test_constant(self):
        self.expect("device-state", "src/cuda/tld.cu",
                    ["__constant__ float table[16];\n", "void f() { cudaMemcpyToSymbol(table, p, 4); }\n"],
                    ["__constant__ const int table[2] = {1, 2};\n", "// __constant__ float table[16];\n"])

    def test_sync(self):
        self.expect("device-state", "src/cuda/tld/engine.cpp", ["void f()\n{\n    cudaDeviceSynchronize();\n}\n"],
                    ["// cudaDeviceSynchronize() would wait for all\n", 'const char* s = "cudaDeviceSynchronize";\n'])

    def test_device_state(self):
        self.expect("device-state", "src/cuda/tld.cu",
                    ["__device__ unsigned counter;\n", "namespace cv {\nstatic __device__ int hits = 0;\n}\n",
                     "__managed__ int x;\n", "__device__ int list[4] = {0, 1, 2, 3};\n", "__device__ __align__(16) int a;\n"],
                    ["__device__ int f(int a);\n", "__device__ const int table[2] = {1, 2};\n", "__device__ int f()\n{\n    return 1;\n}\n",
                     "template <int N> __device__ __forceinline__ void f(int& a)\n{\n    int b = 0;\n}\n",
                     "struct A\n{\n    __device__ int f() const { return 1; }\n};\n"])


if __name__ == "__main__":
    unittest.main()
