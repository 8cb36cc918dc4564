// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Dispatches the loops of loops.simd.hpp to the instruction set of this CPU.
#include "../../precomp.hpp"
#include "work.hpp"
#include "loops.simd.hpp"
#include "cpu/tld/loops.simd_declarations.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

void grayRowOf(const uint8_t* from, int channels, int cols, uint8_t* to)
{
    CV_CPU_DISPATCH(grayRow, (from, channels, cols, to), CV_CPU_DISPATCH_MODES_ALL);
}
void columnSumsOf(const uint32_t* above, uint32_t* row, int count)
{
    CV_CPU_DISPATCH(columnSums, (above, row, count), CV_CPU_DISPATCH_MODES_ALL);
}
void blurRowOf(const uint8_t* row, int cols, uint16_t* to)
{
    CV_CPU_DISPATCH(blurRow, (row, cols, to), CV_CPU_DISPATCH_MODES_ALL);
}
void blurColumnsOf(const uint16_t* const* rows, int cols, uint8_t* to)
{
    CV_CPU_DISPATCH(blurColumns, (rows, cols, to), CV_CPU_DISPATCH_MODES_ALL);
}
void halveRowOf(const uint8_t* row, int cols, uint16_t* to)
{
    CV_CPU_DISPATCH(halveRow, (row, cols, to), CV_CPU_DISPATCH_MODES_ALL);
}
void halveColumnsOf(const uint16_t* const* rows, int cols, uint8_t* to)
{
    CV_CPU_DISPATCH(halveColumns, (rows, cols, to), CV_CPU_DISPATCH_MODES_ALL);
}
void codesOfRow(const WindowRow& row, const uint8_t* wanted, Codes* codes)
{
    CV_CPU_DISPATCH(rowCodes, (row, wanted, codes), CV_CPU_DISPATCH_MODES_ALL);
}
void dotsOf(const uint8_t* patch, const uint8_t* templates, int count, int* dots)
{
    CV_CPU_DISPATCH(dotProducts, (patch, templates, count, dots), CV_CPU_DISPATCH_MODES_ALL);
}
void blendRowsOf(const uint8_t* pixels, size_t step, const Blend& weights, int rows, int16_t* out)
{
    CV_CPU_DISPATCH(blendRows, (pixels, step, weights, rows, out), CV_CPU_DISPATCH_MODES_ALL);
}
Change sumChange(const int16_t* here, const int16_t* there, const int16_t* gx, const int16_t* gy, int count)
{
    CV_CPU_DISPATCH(changeOf, (here, there, gx, gy, count), CV_CPU_DISPATCH_MODES_ALL);
}

}}}} // namespace cv::cuda::tld::cpu
