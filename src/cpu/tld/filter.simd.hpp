// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Loops of the correlation filter, compiled once per instruction set. Most are plain ones, which compilers turn into
// vectors; their additions keep the order of core_filter_answer.hpp.
// The steps of one filter, each with the results of the one before.
#include "opencv2/core/hal/intrin.hpp"
#include "filter.hpp"
#include <algorithm>
#include <cstring>

namespace cv { namespace cuda { namespace tld { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

void featuresOfCells(const ImageView& gray, const SamplePlan& plan, bool texture, FeatureScratch& scratch, float* out,
                     int step);
void spectraOfPair(float* features, const FilterTables& tables, float* re, float* im);
void answer(const FilterModel& model, const FilterSample& sample, const FilterTables& tables, float* answer);
void spectraOfSizes(const float* features, const FilterTables& tables, SizeSample& out);
Complex sumOfScale(const FilterModel& model, const SizeSample& sample, int frequency);
void learnSample(const FilterModel& model, const FilterScratch& frame, const FilterTarget& target,
                 const FilterTables& tables, const TrainingRates& rates, int allForeground, int allBackground,
                 FilterModel& next);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

namespace {

// --- samples ---------------------------------------------------------------------------------------------------------

//! Adds a row of the image to columns, which begin at column `first` of the image.
void addRow(const uint8_t* row, int first, int cols, int weight, int* columns, int count)
{
    const int begin = std::min(count, std::max(0, -first)), end = std::max(begin, std::min(count, cols - first));
    for (int k = 0; k < begin; ++k)
        columns[k] += row[0] * weight;
    const uint8_t* const from = row + first;
    for (int k = begin; k < end; ++k)
        columns[k] += from[k] * weight;
    for (int k = end; k < count; ++k)
        columns[k] += row[cols - 1] * weight;
}

//! Writes samples with a border of a pixel. Sums over the square of a sample are those of cornerSum().
void sampleGray(const ImageView& gray, const SamplePlan& plan, FeatureScratch& scratch)
{
    const int first = plan.left(0) >> 8, wide = 2 * plan.halfX, high = 2 * plan.halfY;
    const int count = ((plan.left(plan.cols - 1) + wide) >> 8) - first + 1;
    scratch.columns.resize(count);
    scratch.sums.resize(static_cast<size_t>(count) + 1);
    int* const columns = scratch.columns.data();
    int64_t* const sums = scratch.sums.data();
    const int64_t middle = static_cast<int64_t>(128) * wide * high;
    for (int j = 0; j < plan.rows; ++j)
    {
        std::fill_n(columns, count, 0);
        const int top = plan.top(j), bottom = top + high;
        for (int y = top >> 8; 256 * y < bottom; ++y)
            addRow(gray.row<uint8_t>(std::max(0, std::min(gray.rows - 1, y))), first, gray.cols,
                   std::min(bottom, 256 * y + 256) - std::max(top, 256 * y), columns, count);
        sums[0] = 0;
        for (int k = 0; k < count; ++k)
            sums[k + 1] = sums[k] + columns[k];
        uint8_t* const out = scratch.samples + static_cast<size_t>(j) * SAMPLE_STEP + 1;
        for (int i = 0; i < plan.cols; ++i)
        {
            const int left = plan.left(i) - 256 * first, right = left + wide, l = left >> 8, r = right >> 8;
            const int64_t sum = 256 * (sums[r] - sums[l]) + static_cast<int64_t>(right & 255) * columns[r] -
                                static_cast<int64_t>(left & 255) * columns[l];
            out[i] = static_cast<uint8_t>(128 + roundEven(static_cast<double>(sum - middle) * plan.inverse));
        }
        out[-1] = out[0];
        out[plan.cols] = out[plan.cols - 1];
    }
}

// --- gradients -------------------------------------------------------------------------------------------------------

//! Computes the gradients of a row. @param row its samples and those of the rows above and below.
void gradientsOf(const uint8_t* above, const uint8_t* row, const uint8_t* below, int cols, int* magnitudes,
                 int* orientations)
{
    const int lanes = VTraits<v_int32>::vlanes();
    const v_int32 zero = vx_setzero_s32();
    const auto load = [](const uint8_t* from) { return v_reinterpret_as_s32(vx_load_expand_q(from)); };
    for (int x = 0; x < cols; x += lanes) // beyond the row, too
    {
        const v_int32 dx = v_sub(load(row + x + 1), load(row + x - 1)), dy = v_sub(load(below + x), load(above + x));
        v_int32 best = vx_setall_s32(-1), orientation = zero;
        for (int k = 0; k < ORIENTATIONS; ++k)
        {
            const v_int32 product =
                v_add(v_mul(dx, vx_setall_s32(directionOf(k, 0))), v_mul(dy, vx_setall_s32(directionOf(k, 1))));
            const v_int32 opposite = v_sub(zero, product);
            orientation = v_select(v_gt(product, best), vx_setall_s32(k), orientation);
            best = v_max(best, product);
            orientation = v_select(v_gt(opposite, best), vx_setall_s32(k + ORIENTATIONS), orientation);
            best = v_max(best, opposite);
        }
        const v_int32 square = v_add(v_mul(dx, dx), v_mul(dy, dy));
        v_store(magnitudes + x, v_trunc(v_mul(vx_setall_f32(16.f), v_sqrt(v_cvt_f32(square)))));
        v_store(orientations + x, orientation);
    }
}

//! Adds the gradients of all samples to the histograms of cells, which have a border of cells.
void addGradients(const SamplePlan& plan, FeatureScratch& scratch)
{
    const int kinds = 2 * ORIENTATIONS, across = (plan.cols / FILTER_CELL + 2) * kinds;
    int magnitudes[SAMPLE_STEP], orientations[SAMPLE_STEP], sums[(FILTER_GRID + 2) * 2 * ORIENTATIONS];
    std::fill_n(scratch.histograms, across * (plan.rows / FILTER_CELL + 2), 0);
    for (int y = 0; y < plan.rows; ++y)
    {
        const uint8_t* const row = scratch.samples + static_cast<size_t>(y) * SAMPLE_STEP + 1;
        gradientsOf(y > 0 ? row - SAMPLE_STEP : row, row, y + 1 < plan.rows ? row + SAMPLE_STEP : row, plan.cols,
                    magnitudes, orientations);
        std::fill_n(sums, across, 0);
        for (int x = 0; x < plan.cols; ++x)
        {
            const int i = x % FILTER_CELL, own = ownWeight(i);
            int* const cell = sums + (x / FILTER_CELL + 1) * kinds + orientations[x];
            cell[0] += magnitudes[x] * own;
            cell[nearCell(i) * kinds] += magnitudes[x] * (2 * FILTER_CELL - own);
        }
        const int j = y % FILTER_CELL, own = ownWeight(j), other = 2 * FILTER_CELL - own;
        int* const here = scratch.histograms + (y / FILTER_CELL + 1) * across;
        int* const near = here + nearCell(j) * across;
        for (int k = 0; k < across; ++k)
        {
            here[k] += own * sums[k];
            near[k] += other * sums[k];
        }
    }
}

//! Computes the factors of all blocks of 2 x 2 cells.
void normalize(int cols, int rows, FeatureScratch& scratch)
{
    const int kinds = 2 * ORIENTATIONS;
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < cols; ++x)
        {
            const int* const cell = scratch.histograms + ((y + 1) * (cols + 2) + x + 1) * kinds;
            scratch.energies[y * cols + x] = cellEnergy([&](int o) { return cell[o]; });
        }
    const auto energyAt = [&](int x, int y)
    { return scratch.energies[std::max(0, std::min(rows - 1, y)) * cols + std::max(0, std::min(cols - 1, x))]; };
    for (int y = 0; y <= rows; ++y)
        for (int x = 0; x <= cols; ++x)
            scratch.norms[y * (cols + 1) + x] =
                normOf(energyAt(x - 1, y - 1) + energyAt(x, y - 1) + energyAt(x - 1, y) + energyAt(x, y));
}

//! Returns the sum of the samples of a cell.
int samplesOf(const uint8_t* samples, int x, int y)
{
    int sum = 0;
    for (int j = 0; j < FILTER_CELL; ++j)
        for (int i = 0; i < FILTER_CELL; ++i)
            sum += samples[(y * FILTER_CELL + j) * SAMPLE_STEP + 1 + x * FILTER_CELL + i];
    return sum;
}

} // namespace

void featuresOfCells(const ImageView& gray, const SamplePlan& plan, bool texture, FeatureScratch& scratch, float* out,
                     int step)
{
    const int cols = plan.cols / FILTER_CELL, rows = plan.rows / FILTER_CELL, kinds = 2 * ORIENTATIONS;
    sampleGray(gray, plan, scratch);
    addGradients(plan, scratch);
    normalize(cols, rows, scratch);
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < cols; ++x)
        {
            const int* const cell = scratch.histograms + ((y + 1) * (cols + 2) + x + 1) * kinds;
            const float* const norm = scratch.norms + y * (cols + 1) + x;
            const CellNorms norms = {{norm[0], norm[1], norm[cols + 1], norm[cols + 2]}};
            float sums[3 * ORIENTATIONS], features[3 * ORIENTATIONS];
            for (int o = 0; o < kinds; ++o)
                sums[o] = static_cast<float>(cell[o]);
            for (int o = 0; o < ORIENTATIONS; ++o)
                sums[kinds + o] = static_cast<float>(cell[o] + cell[o + ORIENTATIONS]);
            for (int k = 0; k < 3 * ORIENTATIONS; ++k)
                features[k] = featureOf(sums[k], norms);
            float* const to = out + y * cols + x;
            for (int k = 0; k < 3 * ORIENTATIONS; ++k)
                to[k * step] = features[k];
            if (!texture)
                to[3 * ORIENTATIONS * step] = grayFeature(samplesOf(scratch.samples, x, y));
            for (int q = 0; texture && q < 4; ++q)
            {
                float sum = 0.f;
                for (int o = 0; o < kinds; ++o)
                    sum += normalized(sums[o], norms.n[q]);
                to[(3 * ORIENTATIONS + q) * step] = sum * TEXTURE_FACTOR;
            }
        }
}

// --- transforms ------------------------------------------------------------------------------------------------------

namespace {

//! Values of a grid: real parts, then imaginary parts.
struct Grid2
{
    float v[2][FILTER_CELLS];
};

//! Executes a stage along the columns, for all columns at the same time.
template <int R, int STRIDE> void columnStage(const Grid2& from, Grid2& to, const FilterTables& tables)
{
    const float* __restrict const re = from.v[0];
    const float* __restrict const im = from.v[1];
    float* __restrict const outRe = to.v[0];
    float* __restrict const outIm = to.v[1];
    for (int n = 0; n < FILTER_GRID / R; ++n)
    {
        const FftButterfly<FILTER_GRID, R, STRIDE> b(n);
        for (int x = 0; x < FILTER_GRID; ++x)
            runButterfly(
                b, tables.cosine, tables.sine,
                [&](int k, float& r, float& i)
                {
                    r = re[k * FILTER_GRID + x];
                    i = im[k * FILTER_GRID + x];
                },
                [&](int k, float r, float i)
                {
                    outRe[k * FILTER_GRID + x] = r;
                    outIm[k * FILTER_GRID + x] = i;
                });
    }
}

//! Transforms all columns. @param a,b the values are in a before and after.
void transformColumns(Grid2& a, Grid2& b, const FilterTables& tables)
{
    Grid2 *from = &a, *to = &b;
    FilterFft::run(
        [&](auto radix, auto stride)
        {
            columnStage<decltype(radix)::value, decltype(stride)::value>(*from, *to, tables);
            std::swap(from, to);
        });
    if (FilterFft::STAGES % 2 != 0)
        a = b;
}

void transpose(const float* from, float* to)
{
    for (int y = 0; y < FILTER_GRID; ++y)
        for (int x = 0; x < FILTER_GRID; ++x)
            to[x * FILTER_GRID + y] = from[y * FILTER_GRID + x];
}

//! Transforms FILTER_GRID x FILTER_GRID values in place; rows become columns.
void transform(float* re, float* im, const FilterTables& tables)
{
    Grid2 a, b;
    std::copy_n(re, FILTER_CELLS, a.v[0]);
    std::copy_n(im, FILTER_CELLS, a.v[1]);
    transformColumns(a, b, tables);
    transpose(a.v[0], b.v[0]);
    transpose(a.v[1], b.v[1]);
    transformColumns(b, a, tables);
    std::copy_n(b.v[0], FILTER_CELLS, re);
    std::copy_n(b.v[1], FILTER_CELLS, im);
}

} // namespace

void spectraOfPair(float* features, const FilterTables& tables, float* re, float* im)
{
    float *const first = features, *const second = features + FILTER_CELLS;
    for (int y = 0; y < FILTER_GRID; ++y)
        for (int x = 0; x < FILTER_GRID; ++x)
        {
            const float weight = tables.window[y] * tables.window[x];
            first[y * FILTER_GRID + x] *= weight;
            second[y * FILTER_GRID + x] *= weight;
        }
    transform(first, second, tables);
    for (int c = 0; c < FILTER_COLUMNS; ++c)
        for (int r = 0; r < FILTER_GRID; ++r)
        {
            const int k = c * FILTER_GRID + r, m = conjugatePlace(c) * FILTER_GRID + conjugatePlace(r);
            const Complex z = {first[k], second[k]}, mirror = {first[m], second[m]};
            const Complex a = firstSpectrum(z, mirror), b = secondSpectrum(z, mirror);
            re[k] = a.re;
            im[k] = a.im;
            re[k + FILTER_SPECTRUM] = b.re;
            im[k + FILTER_SPECTRUM] = b.im;
        }
}

// --- answers ---------------------------------------------------------------------------------------------------------

void answer(const FilterModel& model, const FilterSample& sample, const FilterTables& tables, float* answer)
{
    float sums[2][FILTER_SPECTRUM] = {}, im[FILTER_CELLS];
    for (int k = 0; k < FILTER_CHANNELS; ++k)
        for (int f = 0; f < FILTER_SPECTRUM; ++f)
        {
            Complex sum = {sums[0][f], sums[1][f]};
            addAnswer(sum, model.re[k][f], model.im[k][f], sample.re[k][f], sample.im[k][f]);
            sums[0][f] = sum.re;
            sums[1][f] = sum.im;
        }
    for (int f = 0; f < FILTER_SPECTRUM; ++f)
    {
        const Complex quotient = quotientOf({sums[0][f], sums[1][f]}, model.energy[f]);
        answer[f] = quotient.re;
        im[f] = quotient.im;
    }
    for (int c = FILTER_COLUMNS; c < FILTER_GRID; ++c)
        for (int r = 0; r < FILTER_GRID; ++r)
        {
            const int m = conjugatePlace(c) * FILTER_GRID + conjugatePlace(r);
            answer[c * FILTER_GRID + r] = answer[m];
            im[c * FILTER_GRID + r] = -im[m];
        }
    transform(answer, im, tables);
}

void spectraOfSizes(const float* features, const FilterTables& tables, SizeSample& out)
{
    for (int f = 0; f < SCALE_FREQUENCIES; ++f)
    {
        float *const re = out.re[f], *const im = out.im[f];
        std::fill_n(re, SCALE_ROWS, 0.f);
        std::fill_n(im, SCALE_ROWS, 0.f);
        for (int i = 0; i < FILTER_SCALES; ++i)
        {
            const float* const from = features + static_cast<size_t>(i) * SCALE_ROWS;
            const float cosine = tables.scaleCosine[sizeTurn(i, f)], sine = tables.scaleSine[sizeTurn(i, f)];
            for (int k = 0; k < SCALE_ROWS; ++k)
            {
                Complex sum = {re[k], im[k]};
                addFrequency(sum, from[k] * tables.scaleWindow[i], cosine, sine);
                re[k] = sum.re;
                im[k] = sum.im;
            }
        }
    }
}

namespace {

//! Sums rows of a frequency in the order of channels, then of cells. @param add functor of a sum and the index of a
//! row.
template <typename Add> Complex sumRows(const Add& add)
{
    Complex cells[SCALE_CELLS] = {}, all = {0.f, 0.f};
    for (int k = 0; k < SCALE_CHANNELS; ++k)
        for (int c = 0; c < SCALE_CELLS; ++c)
            add(cells[c], k * SCALE_CELLS + c);
    for (const Complex& cell : cells)
    {
        all.re += cell.re;
        all.im += cell.im;
    }
    return all;
}

} // namespace

Complex sumOfScale(const FilterModel& model, const SizeSample& sample, int f)
{
    return sumRows(
        [&](Complex& sum, int row)
        { addScaleAnswer(sum, model.scaleRe[f][row], model.scaleIm[f][row], sample.re[f][row], sample.im[f][row]); });
}

// --- training --------------------------------------------------------------------------------------------------------

void learnSample(const FilterModel& model, const FilterScratch& frame, const FilterTarget& target,
                 const FilterTables& tables, const TrainingRates& rates, int allForeground, int allBackground,
                 FilterModel& next)
{
    const FilterSample& sample = frame.sample;
    float desired[FILTER_SPECTRUM], energy[FILTER_SPECTRUM] = {};
    for (int f = 0; f < FILTER_SPECTRUM; ++f)
        desired[f] = target.at(f % FILTER_GRID, f / FILTER_GRID);
    for (int k = 0; k < FILTER_CHANNELS; ++k)
        for (int f = 0; f < FILTER_SPECTRUM; ++f)
        {
            const float re = sample.re[k][f], im = sample.im[k][f];
            next.re[k][f] = learned(model.re[k][f], desired[f] * re, rates.filter);
            next.im[k][f] = learned(model.im[k][f], desired[f] * im, rates.filter);
            energy[f] += squareOf(re, im);
        }
    for (int f = 0; f < FILTER_SPECTRUM; ++f)
        next.energy[f] = learned(model.energy[f], energy[f] * (1.f / FILTER_CELLS), rates.filter);
    for (int f = 0; f < SCALE_FREQUENCIES; ++f)
    {
        const float *const re = frame.sizes.re[f], *const im = frame.sizes.im[f];
        for (int row = 0; row < SCALE_ROWS; ++row)
        {
            const Complex numerator = scaleNumerator(re[row], im[row], f, tables);
            next.scaleRe[f][row] = learned(model.scaleRe[f][row], numerator.re, rates.scale);
            next.scaleIm[f][row] = learned(model.scaleIm[f][row], numerator.im, rates.scale);
        }
        const Complex all = sumRows([&](Complex& sum, int row) { sum.re += squareOf(re[row], im[row]); });
        next.scaleEnergy[f] = learned(model.scaleEnergy[f], all.re, rates.scale);
    }
    for (int b = 0; b < HISTOGRAM_BINS; ++b)
    {
        next.foreground[b] = learned(model.foreground[b], binPart(frame.foreground[b], allForeground), rates.histogram);
        next.background[b] = learned(model.background[b], binPart(frame.background[b], allBackground), rates.histogram);
    }
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY
CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::tld::cpu
