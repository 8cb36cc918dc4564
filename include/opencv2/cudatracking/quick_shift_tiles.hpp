// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_TILES_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_TILES_HPP

#include "opencv2/cudatracking/quick_shift.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Superpixels of an image that is computed tile by tile, in any order, and is never in memory at once.

Compute each tile with its halo, the pixels around it on which it depends (getSource()), and pass the result to add().
After all tiles, join() connects superpixels across tiles, and relabel() turns the labels of a tile into those of
QuickShift::compute() on the whole image, bit for bit.

@code
// Writes the labels of an image that read() reads and write() writes in parts.
template <typename Read, typename Write> void segment(cv::Size size, Read read, Write write, Read readBack)
{
    const cv::Ptr<cv::cuda::QuickShift> quickShift = cv::cuda::QuickShift::create();
    const auto tiles = cv::cuda::QuickShiftTiles::create(quickShift, size, cv::Size(1024, 1024));
    const cv::Size grid = tiles->getGrid();
    cv::Mat labels;
    for (int i = 0; i < grid.area(); ++i)
    {
        const cv::Point tile(i % grid.width, i / grid.width);
        quickShift->compute(read(tiles->getSource(tile)));
        tiles->add(tile, quickShift, labels);
        write(tiles->getTile(tile), labels);
    }
    std::cout << tiles->join() << " superpixels" << std::endl;
    for (int i = 0; i < grid.area(); ++i)
    {
        const cv::Point tile(i % grid.width, i / grid.width);
        labels = readBack(tiles->getTile(tile));
        tiles->relabel(tile, labels);
        write(tiles->getTile(tile), labels);
    }
}
@endcode

__Images__: those of QuickShift, with sides up to 2,147,483,647, at most 2^62 pixels and 2^31 - 1 superpixels. A tile
with its halo must be within the limits of QuickShift.

__Sources__: tiles that overlap must read the same pixels and mask. Else labels are wrong, or add() or join() throw.

__Memory__: 8 bytes per label of all tiles (4 after join()), 440 bytes per tile, and the labels near the borders of
tiles whose neighbors are missing. workspaceBytes() returns the sum.

__Threads__: calls of several threads are serialized. Workers may compute tiles at the same time with a QuickShift each,
on the CPU or any device, all with the settings given to create(). */
class CV_EXPORTS_W QuickShiftTiles
{
public:
    virtual ~QuickShiftTiles() = default;

    /** @brief Creates an instance that joins the superpixels of an image that is computed tile by tile, in any order.

    Compute each tile with its halo, the pixels around it that matter (getSource()), and pass the result to add(), which
    returns labels of the tile. After all tiles, join() connects superpixels across tiles, and relabel() turns the
    labels of a tile into those of compute() on the whole image.
    @code{.py}
    >>> image = np.zeros((60, 100, 3), np.uint8)
    >>> image[:, 50:] = 255
    >>> quick_shift = cv2.cuda.QuickShift.create(2, 10)
    >>> tiles = cv2.cuda.QuickShiftTiles.create(quick_shift, (100, 60), (40, 60))
    >>> labels = []
    >>> for column in range(3):
    ...     x, y, width, height = tiles.getSource((column, 0))
    ...     quick_shift.compute(image[y:y + height, x:x + width])
    ...     labels.append(tiles.add((column, 0), quick_shift))
    >>> tiles.join()
    2
    >>> tiles.relabel((1, 0), labels[1])[0, [0, 9, 10, 39]].tolist()
    [0, 0, 1, 1]
    @endcode
    Several threads may add tiles, each with a QuickShift of its own. Tiles that overlap must read the same pixels and
    mask: else labels are wrong.
    @param quickShift has the settings that all tiles must have; may get others afterwards.
    @param imageSize width and height of the whole image, pixels, at least 1.
    @param tileSize width and height of a tile without its halo, pixels, at least 1. Tiles at the right and lower border
    are smaller. Small tiles repeat much work. */
    CV_WRAP static Ptr<QuickShiftTiles> create(const Ptr<QuickShift>& quickShift, Size imageSize, Size tileSize);

    /** @brief Returns how many pixels around a tile its result depends on: ceil(3 sigma) plus the search radius. */
    CV_WRAP virtual int getHalo() const = 0;
    /** @brief Returns the number of tiles in a row and in a column. */
    CV_WRAP virtual Size getGrid() const = 0;
    /** @brief Returns the pixels of a tile in the whole image.
    @param tile column and row of the tile, from 0. */
    CV_WRAP virtual Rect getTile(Point tile) const = 0;
    /** @brief Returns the pixels of a tile and its halo, clipped to the image: what is to be computed.
    @param tile column and row of the tile, from 0. */
    CV_WRAP virtual Rect getSource(Point tile) const = 0;

    /** @brief Adds a tile. Waits if it was computed on a device. applyTau() and enforceConnectivity() have no effect.
    @param tile column and row of the tile, from 0.
    @param computed instance whose last compute(), computeTiled() or computeNoisy() was of the pixels of
    getSource(tile), on any backend, with a mask or without. It may compute another tile afterwards.
    @param labels CV_32SC1, of the tile's size, on the host: from 0, or -1 where masked; to be kept until relabel().
    @throws cv::Exception that names the tile: if there is no such tile, if it was added already, if size, type or
    settings do not fit, or if its source differs from another tile's. */
    CV_WRAP void add(Point tile, const Ptr<QuickShift>& computed, OutputArray labels);
    /** @brief Joins the labels of all tiles. No tile can be added afterwards.
    @return number of superpixels of the whole image.
    @throws cv::Exception that names a missing tile or tiles whose sources differ, or for too many superpixels. */
    CV_WRAP virtual int join() = 0;
    /** @brief Replaces the labels of a tile, as add() gave them, by those of the whole image: the rank of the
    superpixel's root in row-major order. After join() only.
    @param tile column and row of the tile, from 0.
    @param labels CV_32SC1, of the tile's size, on the host.
    @throws cv::Exception if join() was not called, or if size, type or values are not those of the labels of add(). */
    CV_WRAP virtual void relabel(Point tile, InputOutputArray labels) const = 0;

    /** @brief Returns the memory held by this instance in bytes. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

protected:
    //! Result of a QuickShift, copied while that is locked.
    struct Trees;
    virtual void addTrees(Point tile, const Trees& trees, OutputArray labels) = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_TILES_HPP
