// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Frames of the CPU engine.
#ifndef OPENCV_CUDATRACKING_CPU_TLD_FRAME_STORE_HPP
#define OPENCV_CUDATRACKING_CPU_TLD_FRAME_STORE_HPP

#include "../../common/arrays.hpp"
#include "work.hpp"
#include <algorithm>
#include <cstdlib>
#include <memory>

namespace cv { namespace cuda { namespace tld {

//! Pyramids of the kept frames, and blurred image and tables of the image of the last preprocess().
class FrameStore
{
public:
    bool empty() const { return frame_.cols == 0; }
    bool fits(int cols, int rows) const { return frame_.cols == cols && frame_.rows == rows; }
    const Frame& frame() const { return frame_; }

    //! Allocates memory for images of a size; keeps it if it has that size already.
    void create(int cols, int rows, const Settings& settings)
    {
        if (fits(cols, rows))
            return;
        FrameStore other;
        other.frame_.cols = cols;
        other.frame_.rows = rows;
        const int levels = levelsOf(cols, rows, settings);
        for (Slot& slot : other.slots_)
            slot.create(cols, rows, levels);
        other.blurred_ = withSlack(rows, cols);
        other.sums_.create(rows + 1, cols + 1, CV_32SC1);
        other.squares_.create(rows + 1, cols + 1, CV_32SC1);
        std::swap(*this, other);
        frame_.blurred = {blurred_.data, blurred_.step};
        frame_.sums = {sums_.ptr<uint32_t>(), sums_.step1()};
        frame_.squares = {squares_.ptr<uint32_t>(), squares_.step1()};
    }

    //! Computes gray values, blurred image and tables of an image, in the spare slot. Kept pyramids stay.
    void preprocess(const ImageView& image)
    {
        frame_.image = image;
        const Mat& gray = slots_[SPARE].level[0];
        frame_.gray = {gray.data, gray.step};
        cpu::preprocess(image, {gray.data, gray.step}, {blurred_.data, blurred_.step});
        cpu::sumTables(detail::viewOf(gray), sums_.ptr<uint32_t>(), squares_.ptr<uint32_t>(), sums_.step1());
    }
    //! Makes the image of the last preprocess() the current frame.
    void push()
    {
        cpu::pyramid(pyramidOf(slots_[SPARE]));
        std::rotate(slots_, slots_ + KEPT_FRAMES - 1, slots_ + KEPT_FRAMES);
        std::swap(slots_[0], slots_[SPARE]);
        updatePyramids();
    }
    //! Undoes the last push().
    void pop() noexcept
    {
        std::swap(slots_[0], slots_[SPARE]);
        std::rotate(slots_, slots_ + 1, slots_ + KEPT_FRAMES);
        updatePyramids();
    }
    //! Notes that a frame came after START.
    void accept() noexcept { startIsLast_ = false; }
    //! Makes the image of the last preprocess() START. @param oldEnds the old START becomes the last frame.
    void start(bool oldEnds)
    {
        cpu::pyramid(pyramidOf(slots_[SPARE])); // may throw, so nothing has been changed before
        if (oldEnds)
            std::swap(slots_[0], slots_[START]);
        std::swap(slots_[START], slots_[SPARE]);
        startIsLast_ = true;
        updatePyramids();
    }
    //! Whether no frame came after START.
    bool startIsLast() const { return startIsLast_; }
    void setStartIsLast(bool isLast) { startIsLast_ = isLast; }
    //! Whether the image of the last preprocess() is equal to START.
    bool isStart() const { return !framesDiffer(slots_[SPARE], slots_[START]); }
    //! Whether START is equal to the last frame.
    bool startIsFrame() const { return !framesDiffer(slots_[START], slots_[0]); }

    std::vector<uint8_t> grayOf(int age) const
    {
        std::vector<uint8_t> gray(static_cast<size_t>(frame_.cols) * frame_.rows);
        slots_[age].level[0].copyTo(Mat(frame_.rows, frame_.cols, CV_8UC1, gray.data()));
        return gray;
    }
    void setGray(int age, const std::vector<uint8_t>& gray)
    {
        std::copy(gray.begin(), gray.end(), slots_[age].level[0].begin<uint8_t>());
        cpu::pyramid(pyramidOf(slots_[age]));
        updatePyramids();
    }

private:
    static const int SPARE = KEPT_FRAMES + 1;

    //! Allocates an image with ROW_SLACK bytes after each row, which vector instructions may read.
    static Mat withSlack(int rows, int cols)
    {
        return Mat(rows, cols + cpu::ROW_SLACK, CV_8UC1, Scalar(0)).colRange(0, cols);
    }

    /** Pyramid of one image, zeros at first, with ROW_SLACK bytes after each row. The system gives it memory when it is
    written: a detector writes one slot only. */
    struct Slot
    {
        std::unique_ptr<uint8_t, void (*)(void*)> memory{nullptr, std::free};
        std::vector<Mat> level;

        void create(int cols, int rows, int levels)
        {
            std::vector<Size> sizes;
            size_t bytes = 0;
            for (int l = 0; l < levels; ++l, cols = (cols + 1) / 2, rows = (rows + 1) / 2)
            {
                sizes.emplace_back(cols, rows);
                bytes += static_cast<size_t>(cols + cpu::ROW_SLACK) * rows;
            }
            memory.reset(static_cast<uint8_t*>(std::calloc(bytes, 1)));
            if (!memory)
                CV_Error_(Error::StsNoMem, ("no memory for %zu bytes of an image's pyramid", bytes));
            uint8_t* to = memory.get();
            for (const Size& size : sizes)
            {
                const size_t step = static_cast<size_t>(size.width + cpu::ROW_SLACK);
                level.emplace_back(size, CV_8UC1, to, step);
                to += step * size.height;
            }
        }
    };

    static bool framesDiffer(const Slot& a, const Slot& b)
    {
        const Mat &first = a.level[0], &second = b.level[0];
        for (int y = 0; y < first.rows; ++y)
            if (!std::equal(first.ptr(y), first.ptr(y) + first.cols, second.ptr(y)))
                return true;
        return false;
    }

    static Pyramid pyramidOf(const Slot& slot)
    {
        Pyramid pyramid = {};
        pyramid.levels = static_cast<int>(slot.level.size());
        for (int l = 0; l < pyramid.levels; ++l)
        {
            const Mat& level = slot.level[l];
            pyramid.data[l] = level.data;
            pyramid.step[l] = level.step;
            pyramid.cols[l] = level.cols;
            pyramid.rows[l] = level.rows;
        }
        return pyramid;
    }
    //! Updates the views of Frame after slots have changed.
    void updatePyramids()
    {
        for (int age = 0; age < SPARE; ++age)
            frame_.pyramids[age] = pyramidOf(slots_[age]);
    }

    Slot slots_[KEPT_FRAMES + 2]; //!< by age, then START, then the spare slot
    bool startIsLast_ = false;
    Mat blurred_, sums_, squares_;
    Frame frame_ = {};
};

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_CPU_TLD_FRAME_STORE_HPP
