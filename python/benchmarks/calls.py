"""Time of calls of the package, beside the extension called directly with its own arrays: python calls.py [CALLS | cpu].

With tensors of torch on a device, where results stay: host: until the calls have returned; device: until it has executed them, too; each the best
of five. The last lines say whether a call returns while another stream is busy. Needs torch and a CUDA device. With cpu: small images on the CPU,
on one thread, the best of a hundred.
"""
import sys
import time

import numpy as np

import cudatracking as ct

cuda = ct.cv2.cuda


def timed(function, count, synchronize=lambda: None, rounds=5):
    """Microseconds per call: on the host, and with the device."""
    for _ in range(20):
        function()
    times = []
    for _ in range(rounds):
        synchronize()
        start = time.perf_counter()
        for _ in range(count):
            function()
        returned = time.perf_counter()
        synchronize()
        times.append(((returned - start) / count * 1e6, (time.perf_counter() - start) / count * 1e6))
    return [min(column) for column in zip(*times)]


def on_the_cpu():
    """Calls that have next to nothing to compute."""
    ct.cv2.setNumThreads(1)
    frame = np.random.default_rng(1).integers(0, 256, (48, 64), dtype=np.uint8)
    matcher, shift, faces = ct.FragmentMatcher("ssd", device="cpu"), ct.QuickShift(1, 2, device="cpu"), ct.CascadeClassifier("frontalface_alt", device="cpu")
    matcher.cut(frame, [(20, 20, 8, 8)])
    areas, square, window = np.array([(18, 18, 12, 12)], np.int32), frame[:8, :8].copy(), frame[:24, :24].copy()
    found, where = matcher.match(frame, areas), [(18, 18, 12, 12)]
    shift.compute(square)
    settings = faces.scale_factor, faces.min_neighbors, 0, faces.min_size, faces.max_size
    rows = {"match": (lambda: matcher.match(frame, areas), lambda: matcher._native.match(frame, areas)),
            "match, out": (lambda: matcher.match(frame, areas, out=found), lambda: matcher._native.match(frame, areas)),
            "match, list of areas": (lambda: matcher.match(frame, where), lambda: matcher._native.match(frame, where)),
            "match, whole frame": (lambda: matcher.match(frame), lambda: matcher._native.match(frame, None)),
            "compute": (lambda: shift.compute(square), lambda: shift._native.compute(square)), "labels": (shift.labels, shift._native.getLabels),
            "detect": (lambda: faces.detect(window), lambda: faces._native.detectMultiScale(window, *settings))}
    print("Microseconds per call on the CPU\n\n| call | package | extension |\n|---|--:|--:|")
    for name, functions in rows.items():
        print("| {} | {:.1f} | {:.1f} |".format(name, *[timed(function, 50, rounds=100)[0] for function in functions]))


def natives(matcher, shift, faces, tracker, frame, areas, gray):
    """The same calls of the extension with outputs that are given, the least that calls from Python take."""
    as_mat = lambda tensor, kind, rows, columns: cuda.createGpuMatFromCudaMemory(rows, columns, kind, tensor.data_ptr())  # noqa: E731
    count, most, (height, width) = len(areas), faces.max_objects, gray.shape
    found = [cuda.GpuMat(count, 2, ct.cv2.CV_32SC2), cuda.GpuMat(count, 2, ct.cv2.CV_32FC1), cuda.GpuMat(count, 1, ct.cv2.CV_32FC1),
             cuda.GpuMat(count, 1, ct.cv2.CV_8UC1), cuda.GpuMat(count, 2, ct.cv2.CV_32FC2)]
    tables = [cuda.GpuMat(1, 1 + most, ct.cv2.CV_32SC4), cuda.GpuMat(1, most, ct.cv2.CV_32SC1), cuda.GpuMat(1, most, ct.cv2.CV_64FC1)]
    labels, track = cuda.GpuMat(height, width, ct.cv2.CV_32SC1), cuda.GpuMat(1, 12, ct.cv2.CV_64FC1)
    image, where, plane = as_mat(frame, ct.cv2.CV_8UC3, *frame.shape[:2]), as_mat(areas, ct.cv2.CV_32SC1, count, 4), as_mat(gray, ct.cv2.CV_8UC1, height, width)
    settings = faces.scale_factor, faces.min_neighbors, 0, faces.min_size, faces.max_size
    return {"match": lambda: matcher._native.match(image, where, *found), "labels": lambda: shift._native.getLabels(labels),
            "compute": lambda: shift._native.compute(plane), "detect": lambda: faces._native.detectMultiScale(plane, *settings),
            "detect_async": lambda: faces._native.detectAsync([plane], *tables), "Tracker.update": lambda: tracker._native.update(plane),
            "Tracker.update_async": lambda: tracker._native.updateAsync(plane, track)}


def main():
    if sys.argv[1:] == ["cpu"]:
        on_the_cpu()
        return
    import torch
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    random = np.random.default_rng(5)
    pixels = ct.cv2.GaussianBlur(random.integers(0, 256, (1080, 1920, 3), dtype=np.uint8), (0, 0), 2)
    left, top = random.integers(0, 1900, 1000), random.integers(0, 1060, 1000)
    regions = [(int(x), int(y), 16, 16) for x, y in zip(left, top)]
    windows = np.array([(max(0, x - 16), max(0, y - 16), 48, 48) for x, y, _, _ in regions], np.int32)
    frame, areas, gray = torch.from_numpy(pixels).cuda(), torch.from_numpy(windows).cuda(), torch.from_numpy(pixels[:, :, 0].copy()).cuda()
    matcher = ct.FragmentMatcher("ssd", device="cuda", max_search_area=48)
    matcher.cut(frame, regions)
    found = matcher.match(frame, areas)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        kept = matcher.match(frame, areas)
    shift = ct.QuickShift().compute(gray)
    faces = ct.CascadeClassifier("frontalface_alt", device="cuda")
    tracker = ct.Tracker(device="cuda")
    tracker.init(gray, (300, 300, 80, 80))
    rows = {"match": lambda: matcher.match(frame, areas), "match, locations": lambda: matcher.match(frame, areas).locations,
            "match, out": lambda: matcher.match(frame, areas, out=found), "match, areas of numpy": lambda: matcher.match(frame, windows), "match, graph": graph.replay,
            "labels": shift.labels, "compute": lambda: shift.compute(gray), "detect": lambda: faces.detect(gray), "detect_async": lambda: faces.detect_async([gray]),
            "Tracker.update": lambda: tracker.update(gray), "Tracker.update_async": lambda: tracker.update_async(gray)}
    extension = natives(matcher, shift, faces, tracker, frame, areas, gray)
    print(f"{torch.cuda.get_device_name()}, {calls} calls, microseconds per call\n\n| call | host | device | extension, host | device |\n|---|--:|--:|--:|--:|")
    for name, function in rows.items():
        count = calls if name.startswith(("match", "labels")) else calls // 5
        least = extension.get(name.removesuffix(", locations").removesuffix(", out"))
        print("|", " | ".join([name, *(f"{us:.1f}" for us in (*timed(function, count, torch.cuda.synchronize), *(timed(least, count, torch.cuda.synchronize) if least else ())))]), "|" if least else "| | |")
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    with torch.cuda.stream(side):
        torch.cuda._sleep(10**9)
        event.record()
    start = time.perf_counter()
    for _ in range(10):
        matcher.match(frame, areas)
    print(f"\n10 calls returned after {(time.perf_counter() - start) * 1e3:.2f} ms; another stream was {'done' if event.query() else 'busy'}")
    torch.cuda.synchronize()
    del kept


if __name__ == "__main__":
    main()
