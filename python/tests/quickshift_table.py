"""Prints the table of doc/from_opencv.md about quickshift(): equal parents, equal superpixels and numbers of superpixels beside scikit-image."""
import numpy as np
import skimage
from skimage.data import astronaut

from scikit_image import LIME, SIDE, compared, drawing, pictures


def row(name, words, image, **named):
    parents, same, theirs, ours = compared(image, **named)
    print(f"| {name} | {words} | {100 * parents:.2f} % | {100 * same:.2f} % | {theirs} | {ours} |")


def main():
    print(f"scikit-image {skimage.__version__}:\n")
    print("| image | call | same parent | same superpixel | superpixels, scikit-image | superpixels, cudatracking |")
    print("|---|---|--:|--:|--:|--:|")
    row("astronaut", "defaults", astronaut())
    row("astronaut", "ratio .5, kernel_size 3, max_dist 6", astronaut(), ratio=.5, kernel_size=3, max_dist=6)
    row("astronaut", "sigma 1", astronaut(), sigma=1.)
    row("astronaut", "convert2lab False, ratio 20", astronaut(), convert2lab=False, ratio=20.)
    row("drawing on white", "defaults", drawing())
    row("drawing on white", "LIME's", drawing(), **LIME)
    rows = [compared(image, **LIME) for _, image in pictures()]
    parents, same, theirs, ours = np.array(rows).T
    print(f"| {len(rows)} images of OpenCV's samples, {SIDE} pixels, mean | LIME's | {100 * parents.mean():.2f} % | {100 * same.mean():.2f} % | "
          f"{theirs.mean():.1f} | {ours.mean():.1f} |")
    print(f"| the worst of them | LIME's | {100 * parents.min():.2f} % | {100 * same.min():.2f} % | | {abs(theirs - ours).max():.0f} more or fewer |")
    print(f"\nThe same number of superpixels in {(theirs == ours).sum()} of {len(rows)}.")


main()
