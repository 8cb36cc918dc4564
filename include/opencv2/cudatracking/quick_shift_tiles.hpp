// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_TILES_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_TILES_HPP

#include "opencv2/cudatracking/quick_shift.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Superpixels of an image that is computed tile by tile, in any order, and never whole in memory.

Each tile is computed by a QuickShift, with its halo: the pixels around it on which its densities and parents depend.
add() takes the result and gives labels of the tile, numbered from 0. When all tiles are there, join() finds which of
these labels are one superpixel of the whole image, and relabel() replaces them by its label. The labels are those of
QuickShift::compute() on the whole image, bit for bit.

@code
// Writes the labels of an image that read() reads and write() writes in parts.
void segment(cv::Size size, const std::function<cv::Mat(cv::Rect)>& read,
             const std::function<void(cv::Rect, const cv::Mat&)>& write,
             const std::function<cv::Mat(cv::Rect)>& readBack)
{
    const cv::Ptr<cv::cuda::QuickShift> quickShift = cv::cuda::QuickShift::create();
    const cv::Ptr<cv::cuda::QuickShiftTiles> tiles =
        cv::cuda::QuickShiftTiles::create(quickShift, size, cv::Size(1024, 1024));
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

__Images__: those of QuickShift, but with sides up to 2,147,483,647, of at most 2^62 pixels and 2^31 - 1 superpixels. A
tile with its halo is within the limits of QuickShift.

__Memory__: 8 bytes per label of all tiles, 4 after join(), and the labels near the borders of those tiles that have a
neighbour which is missing. In row-major order these are the tiles of one row. workspaceBytes() returns the sum.

__Threads__: calls of several threads are executed one after another. Workers compute tiles at the same time with a
QuickShift each, on the CPU or on any device, and call add() of one QuickShiftTiles. All must have the settings of the
one that create() was given. */
class CV_EXPORTS_W QuickShiftTiles
{
public:
    virtual ~QuickShiftTiles() = default;

    /** @brief Creates an instance that joins the superpixels of an image that is computed tile by tile, in any order.

    Each tile is computed by a QuickShift with its halo, the pixels around it that matter: getSource() says where. add()
    takes the result and gives labels of the tile. When all tiles are there, join() finds which labels are one
    superpixel, and relabel() replaces those of a tile by the labels of the whole image. They are those of one call of
    compute() on the whole image.
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
    Several threads may add tiles, each with a QuickShift of its own.
    @param quickShift its sigma, maxDist and search radius determine the halo.
    @param imageSize width and height of the whole image, pixels, at least 1.
    @param tileSize width and height of a tile without its halo, pixels, at least 1. Tiles at the right and lower border
    are smaller. Small tiles repeat much work: a tile is computed with getHalo() more pixels on each side.
    @throws cv::Exception if an argument is out of its range. */
    CV_WRAP static Ptr<QuickShiftTiles> create(const Ptr<QuickShift>& quickShift, Size imageSize, Size tileSize);

    /** @brief Returns how many pixels around a tile its result depends on: ceil(3 sigma) plus the search radius. */
    CV_WRAP virtual int getHalo() const = 0;
    /** @brief Returns the number of tiles in a row and in a column. */
    CV_WRAP virtual Size getGrid() const = 0;
    /** @brief Returns the pixels of a tile in the whole image.
    @param tile column and row of the tile, from 0.
    @throws cv::Exception if there is no such tile. */
    CV_WRAP virtual Rect getTile(Point tile) const = 0;
    /** @brief Returns the pixels of a tile and its halo, clipped at the border of the image: what is to be computed.
    @param tile column and row of the tile, from 0.
    @throws cv::Exception if there is no such tile. */
    CV_WRAP virtual Rect getSource(Point tile) const = 0;

    /** @brief Adds a tile. Waits if it was computed on a device.
    @param tile column and row of the tile, from 0.
    @param computed instance whose last compute() was of the pixels of getSource(tile), on any backend, with a mask or
    without. It may compute another tile afterwards.
    @param labels CV_32SC1, of the tile's size, on the host: 0 to the number of the tile's labels - 1, or -1 where
    masked. They are to be kept until relabel().
    @throws cv::Exception that names the tile: if there is no such tile, if it was added already, if the pixels computed
    are not as many as those of getSource(tile), if the halo is too small for the settings of `computed`, and if these
    or the type of the image are not those of the tiles before. Nothing changes then. */
    CV_WRAP void add(Point tile, const Ptr<QuickShift>& computed, OutputArray labels);
    /** @brief Joins the labels of all tiles. No tile can be added afterwards.
    @return number of superpixels of the whole image.
    @throws cv::Exception that names the first tile that is missing, if one is, or if there are more than 2^31 - 1
    superpixels. */
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
