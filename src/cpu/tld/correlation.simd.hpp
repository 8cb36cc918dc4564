// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Loops of the correlation filter, compiled once per instruction set. Most are plain ones, which compilers turn into
// vectors; their additions keep the order of core_correlation.hpp.
#include "opencv2/core/hal/intrin.hpp"
#include "correlation.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace correlation { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

void channelsOfCells(const ImageView& image, const Samples& samples, CellScratch& scratch, Cells& cells);
void spectraOfPair(const Cells& cells, int channel, const Tables& tables, Spectra& out);
Answer answer(const Spectra& model, const Spectra& image, const Tables& tables);
void solution(const Spectra& image, const Spectra* before, const Spectra* added, const Tables& tables, Spectra& out);
void constrainedPair(const TargetCells& target, int channel, const Tables& tables, Spectra& solution);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

namespace {

// --- samples ---------------------------------------------------------------------------------------------------------

//! Adds a row of the image to columns, which begin at column `first` of the image.
void addRow(const uint8_t* row, int first, const ImageView& image, int weight, int* columns, int count)
{
    const int channels = image.channels;
    const int begin = std::min(count, std::max(0, -first)), end = std::max(begin, std::min(count, image.cols - first));
    for (int k = 0; k < begin; ++k)
        for (int c = 0; c < channels; ++c)
            columns[k * channels + c] += row[c] * weight;
    const uint8_t* const from = row + static_cast<ptrdiff_t>(first) * channels;
    for (int k = begin * channels; k < end * channels; ++k)
        columns[k] += from[k] * weight;
    const uint8_t* const last = row + static_cast<ptrdiff_t>(image.cols - 1) * channels;
    for (int k = end; k < count; ++k)
        for (int c = 0; c < channels; ++c)
            columns[k * channels + c] += last[c] * weight;
}

//! Adds up the columns of the samples of a row. @tparam IMAGE_CHANNELS of the image. @param out SIDE values for each of the
//! three colours, or one of a gray image.
template <int IMAGE_CHANNELS> void addColumns(const int* columns, const Samples& samples, int first, double* out)
{
    const int colours = IMAGE_CHANNELS == 1 ? 1 : 3, wide = 2 * samples.half;
    for (int i = 0; i < SIDE; ++i)
    {
        // All of the pixels, less the parts of the first and of the last one that are outside of the square.
        const int left = samples.begin(samples.x, i) - 256 * first, k0 = left >> 8, k1 = (left + wide - 1) >> 8;
        const int64_t before = left & 255, after = 256 * (k1 + 1) - left - wide;
        const int *const begin = columns + k0 * IMAGE_CHANNELS, *const last = columns + k1 * IMAGE_CHANNELS;
        int64_t sums[colours] = {};
        for (const int* column = begin; column <= last; column += IMAGE_CHANNELS)
            for (int c = 0; c < colours; ++c)
                sums[c] += column[c];
        for (int c = 0; c < colours; ++c)
            out[c * SIDE + i] = static_cast<double>(256 * sums[c] - before * begin[c] - after * last[c]);
    }
}

//! Rounds to integers, halves to even: by the rounding of a sum, which is a vector instruction on all processors.
void roundSums(const double* sums, double factor, int count, uint8_t* out)
{
    const double whole = 6755399441055744.; // 1.5 * 2^52: doubles near it are integers
    for (int i = 0; i < count; ++i)
        out[i] = static_cast<uint8_t>(static_cast<int>((sums[i] * factor + whole) - whole));
}

//! Takes a row of samples of each colour. @param out SIDE values each; of a gray image only the first.
void sampleRow(const ImageView& image, const Samples& samples, int j, std::vector<int>& columns, uint8_t* out)
{
    const int wide = 2 * samples.half, channels = image.channels;
    const int first = samples.begin(samples.x, 0) >> 8;
    const int count = ((samples.begin(samples.x, SIDE - 1) + wide) >> 8) - first + 1;
    columns.assign(static_cast<size_t>(count) * channels, 0);
    const int top = samples.begin(samples.y, j), bottom = top + wide;
    for (int y = top >> 8; 256 * y < bottom; ++y)
        addRow(image.row<uint8_t>(std::max(0, std::min(image.rows - 1, y))), first, image, pixelWeight(y, top, wide),
               columns.data(), count);
    double sums[3 * SIDE];
    if (channels == 1)
        addColumns<1>(columns.data(), samples, first, sums);
    else if (channels == 3)
        addColumns<3>(columns.data(), samples, first, sums);
    else
        addColumns<4>(columns.data(), samples, first, sums);
    roundSums(sums, samples.inverse, (channels == 1 ? 1 : 3) * SIDE, out);
}

//! Writes gray samples with a border of a pixel, and the sums of the colours of cells.
void sampleCells(const ImageView& image, const Samples& samples, CellScratch& scratch)
{
    uint8_t colours[3 * SIDE];
    uint32_t sums[4][SIDE]; // of the products over the rows of a cell
    uint32_t single[3][SIDE];
    for (int j = 0; j < SIDE; ++j)
    {
        sampleRow(image, samples, j, scratch.columns, colours);
        const uint8_t* const b = colours;
        const uint8_t* const g = image.channels == 1 ? colours : colours + SIDE;
        const uint8_t* const r = image.channels == 1 ? colours : colours + 2 * SIDE;
        uint8_t* const out = scratch.samples + static_cast<size_t>(j) * SAMPLE_STEP + 1;
        const bool begins = j % CELL == 0;
        for (int i = 0; i < SIDE; ++i)
        {
            const uint32_t blue = b[i], green = g[i], red = r[i], bg = blue * green;
            out[i] = static_cast<uint8_t>(grayOf(blue, green, red));
            single[0][i] = (begins ? 0 : single[0][i]) + blue;
            single[1][i] = (begins ? 0 : single[1][i]) + green;
            single[2][i] = (begins ? 0 : single[2][i]) + red;
            sums[0][i] = (begins ? 0 : sums[0][i]) + bg;
            sums[1][i] = (begins ? 0 : sums[1][i]) + blue * red;
            sums[2][i] = (begins ? 0 : sums[2][i]) + green * red;
            sums[3][i] = (begins ? 0 : sums[3][i]) + bg * red;
        }
        out[-1] = out[0];
        out[SIDE] = out[SIDE - 1];
        if (j % CELL != CELL - 1)
            continue;
        for (int x = 0; x < GRID; ++x)
        {
            const auto sumOf = [&](const uint32_t* from)
            { return from[CELL * x] + from[CELL * x + 1] + from[CELL * x + 2] + from[CELL * x + 3]; };
            scratch.colours[j / CELL * GRID + x] = {sumOf(single[0]), sumOf(single[1]), sumOf(single[2]),
                                                    sumOf(sums[0]),   sumOf(sums[1]),   sumOf(sums[2]),
                                                    sumOf(sums[3])};
        }
    }
}

// --- gradients -------------------------------------------------------------------------------------------------------

//! Computes the gradients of a row. @param row its samples and those of the rows above and below.
void gradientsOf(const uint8_t* above, const uint8_t* row, const uint8_t* below, int* magnitudes, int* orientations)
{
    const int lanes = VTraits<v_int32>::vlanes();
    const v_int32 zero = vx_setzero_s32();
    const auto load = [](const uint8_t* from) { return v_reinterpret_as_s32(vx_load_expand_q(from)); };
    for (int x = 0; x < SIDE; x += lanes)
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
void addGradients(CellScratch& scratch)
{
    const int kinds = 2 * ORIENTATIONS, across = (GRID + 2) * kinds;
    int magnitudes[SAMPLE_STEP], orientations[SAMPLE_STEP], sums[across];
    std::fill_n(scratch.histograms, across * (GRID + 2), 0);
    for (int y = 0; y < SIDE; ++y)
    {
        const uint8_t* const row = scratch.samples + static_cast<size_t>(y) * SAMPLE_STEP + 1;
        gradientsOf(y > 0 ? row - SAMPLE_STEP : row, row, y + 1 < SIDE ? row + SAMPLE_STEP : row, magnitudes,
                    orientations);
        std::fill_n(sums, across, 0);
        for (int x = 0; x < SIDE; ++x)
        {
            const int i = x % CELL, own = ownWeight(i);
            int* const cell = sums + (x / CELL + 1) * kinds + orientations[x];
            cell[0] += magnitudes[x] * own;
            cell[nearCell(i) * kinds] += magnitudes[x] * (2 * CELL - own);
        }
        const int j = y % CELL, own = ownWeight(j), other = 2 * CELL - own;
        int* const here = scratch.histograms + (y / CELL + 1) * across;
        int* const near = here + nearCell(j) * across;
        for (int k = 0; k < across; ++k)
        {
            here[k] += own * sums[k];
            near[k] += other * sums[k];
        }
    }
}

const int* histogramOf(const CellScratch& scratch, int x, int y)
{
    return scratch.histograms + ((y + 1) * (GRID + 2) + x + 1) * 2 * ORIENTATIONS;
}

//! Computes the factors of all blocks of 2 x 2 cells.
void normalize(CellScratch& scratch)
{
    for (int y = 0; y < GRID; ++y)
        for (int x = 0; x < GRID; ++x)
        {
            const int* const cell = histogramOf(scratch, x, y);
            scratch.energies[y * GRID + x] = cellEnergy([&](int o) { return cell[o]; });
        }
    const auto energyAt = [&](int x, int y)
    { return scratch.energies[std::max(0, std::min(GRID - 1, y)) * GRID + std::max(0, std::min(GRID - 1, x))]; };
    for (int y = 0; y <= GRID; ++y)
        for (int x = 0; x <= GRID; ++x)
            scratch.norms[y * (GRID + 1) + x] =
                normOf(energyAt(x - 1, y - 1) + energyAt(x, y - 1) + energyAt(x - 1, y) + energyAt(x, y));
}

//! Returns the sum of the gray samples of a cell.
int samplesOf(const uint8_t* samples, int x, int y)
{
    int sum = 0;
    for (int j = 0; j < CELL; ++j)
        for (int i = 0; i < CELL; ++i)
            sum += samples[(y * CELL + j) * SAMPLE_STEP + 1 + x * CELL + i];
    return sum;
}

} // namespace

void channelsOfCells(const ImageView& image, const Samples& samples, CellScratch& scratch, Cells& cells)
{
    sampleCells(image, samples, scratch);
    addGradients(scratch);
    normalize(scratch);
    const int kinds = 2 * ORIENTATIONS, unsignedKinds = 3 * ORIENTATIONS;
    for (int c = 0; c < CELLS; ++c)
    {
        const int x = c % GRID, y = c / GRID;
        const int* const cell = histogramOf(scratch, x, y);
        const float* const norm = scratch.norms + y * (GRID + 1) + x;
        const CellNorms norms = {{norm[0], norm[1], norm[GRID + 1], norm[GRID + 2]}};
        float sums[3 * ORIENTATIONS], features[3 * ORIENTATIONS], textures[4] = {};
        for (int o = 0; o < kinds; ++o)
            sums[o] = static_cast<float>(cell[o]);
        for (int o = 0; o < ORIENTATIONS; ++o)
            sums[kinds + o] = static_cast<float>(cell[o] + cell[o + ORIENTATIONS]);
        for (int k = 0; k < unsignedKinds; ++k)
            features[k] = featureOf(sums[k], norms);
        for (int o = 0; o < kinds; ++o)
            for (int q = 0; q < 4; ++q)
                textures[q] += normalized(sums[o], norms.n[q]);
        for (int k = 0; k < unsignedKinds; ++k)
            cells.channel[k][c] = features[k];
        for (int q = 0; q < 4; ++q)
            cells.channel[unsignedKinds + q][c] = textures[q] * TEXTURE_FACTOR;
        cells.channel[HOG_CHANNELS][c] = grayFeature(samplesOf(scratch.samples, x, y));
        for (int k = 0; k < 8; ++k)
            cells.channel[HOG_CHANNELS + 1 + k][c] = scratch.colours[c].feature(k);
    }
    std::fill_n(cells.energy, BLOCKS, 0);
    for (int k = 0; k < CHANNELS; ++k)
        for (int y = 0; y < GRID; ++y)
        {
            int sum = 0; // below 48 * 2^24
            for (int x = 0; x < GRID; ++x)
                sum += energyOf(cells.channel[k][y * GRID + x]);
            cells.energy[blockOf(k)] += sum;
        }
}

// --- transforms ------------------------------------------------------------------------------------------------------

namespace {

//! Values of a grid: real parts, then imaginary parts.
struct Grid2
{
    float v[2][CELLS];
};

//! Executes a stage along columns [first, last), for all of them at the same time.
template <int R, int STRIDE> void columnStage(const Grid2& from, Grid2& to, const Tables& tables, int first, int last)
{
    const float* __restrict const re = from.v[0];
    const float* __restrict const im = from.v[1];
    float* __restrict const outRe = to.v[0];
    float* __restrict const outIm = to.v[1];
    for (int n = 0; n < GRID / R; ++n)
    {
        const FftButterfly<GRID, R, STRIDE> b(n);
        for (int x = first; x < last; ++x)
            runButterfly(
                b, tables.cosine, tables.sine,
                [&](int k, float& r, float& i)
                {
                    r = re[k * GRID + x];
                    i = im[k * GRID + x];
                },
                [&](int k, float r, float i)
                {
                    outRe[k * GRID + x] = r;
                    outIm[k * GRID + x] = i;
                });
    }
}

//! Transforms columns. @param a,b the values are in a before, and in b after.
void transformColumns(Grid2& a, Grid2& b, const Tables& tables, int first = 0, int last = GRID)
{
    static_assert(Fft::STAGES % 2 == 1, "they end in b");
    Grid2 *from = &a, *to = &b;
    Fft::run(
        [&](auto radix, auto stride)
        {
            columnStage<decltype(radix)::value, decltype(stride)::value>(*from, *to, tables, first, last);
            std::swap(from, to);
        });
}

void transpose(const Grid2& from, Grid2& to)
{
    for (int p = 0; p < 2; ++p)
        for (int y = 0; y < GRID; ++y)
            for (int x = 0; x < GRID; ++x)
                to.v[p][x * GRID + y] = from.v[p][y * GRID + x];
}

//! Transforms a grid. Rows become columns. @param a the values before. @param b after.
void transform(Grid2& a, Grid2& b, const Tables& tables)
{
    transformColumns(a, b, tables);
    transpose(b, a);
    transformColumns(a, b, tables);
}

//! Writes the spectra of a pair of channels. @param z transformed.
void split(const Grid2& z, int channel, Spectra& out)
{
    float *const re = out.re[channel], *const im = out.im[channel];
    for (int c = 0; c < COLUMNS; ++c)
        for (int r = 0; r < GRID; ++r)
        {
            const int k = c * GRID + r, m = conjugatePlace(c) * GRID + conjugatePlace(r);
            const Complex own = {z.v[0][k], z.v[1][k]}, mirror = {z.v[0][m], z.v[1][m]};
            const Complex a = firstSpectrum(own, mirror), b = secondSpectrum(own, mirror);
            re[k] = a.re;
            im[k] = a.im;
            re[k + SPECTRUM] = b.re;
            im[k + SPECTRUM] = b.im;
        }
}

} // namespace

void spectraOfPair(const Cells& cells, int channel, const Tables& tables, Spectra& out)
{
    Grid2 a, b;
    for (int p = 0; p < 2; ++p)
    {
        const int block = blockOf(channel + p);
        const float factor = blockFactor(block, cells.energy[block]);
        for (int y = 0; y < GRID; ++y)
            for (int x = 0; x < GRID; ++x)
                a.v[p][y * GRID + x] =
                    weighted(cells.channel[channel + p][y * GRID + x], factor, tables.window[x], tables.window[y]);
    }
    transform(a, b, tables);
    split(b, channel, out);
}

// --- answer ----------------------------------------------------------------------------------------------------------

namespace {

//! Adds the parts of a sum as a binary tree. @param count a power of two.
template <typename Add> void addParts(int count, const Add& add)
{
    for (int half = count / 2; half > 0; half /= 2)
        for (int k = 0; k < half; ++k)
            add(k, k + half);
}

//! Returns the value and the derivatives of the answer at a place. @param re,im its spectrum.
Slope slopeAt(const float* re, const float* im, int x, int y, const Tables& tables)
{
    Complex waves[GRID];
    for (int r = 0; r < GRID; ++r)
        waves[r] = waveOf(frequencyOf(r), y, tables.turn);
    Slope slopes[32] = {};
    for (int c = 0; c < COLUMNS; ++c)
    {
        ColumnSums parts[ROW_PARTS] = {};
        for (int i = 0; i < GRID; i += ROW_PARTS)
            for (int p = 0; p < ROW_PARTS; ++p)
                parts[p].add({re[c * GRID + i + p], im[c * GRID + i + p]}, waves[i + p],
                             static_cast<float>(frequencyOf(i + p)));
        addParts(ROW_PARTS,
                 [&](int a, int b)
                 {
                     for (int k = 0; k < 3; ++k)
                     {
                         parts[a].re[k] += parts[b].re[k];
                         parts[a].im[k] += parts[b].im[k];
                     }
                 });
        slopes[c] = slopeOf(parts[0], waveOf(c, x, tables.turn), c);
    }
    addParts(32,
             [&](int a, int b)
             {
                 Slope& s = slopes[a];
                 const Slope& o = slopes[b];
                 s = {s.value + o.value, s.x + o.x, s.y + o.y, s.xx + o.xx, s.xy + o.xy, s.yy + o.yy};
             });
    return slopes[0];
}

} // namespace

Answer answer(const Spectra& model, const Spectra& image, const Tables& tables)
{
    float re[SPECTRUM] = {}, im[SPECTRUM] = {};
    for (int k = 0; k < CHANNELS; k += 2)
        for (int f = 0; f < SPECTRUM; ++f)
        {
            const Complex sum =
                pairAnswer({model.re[k][f], model.im[k][f]}, {image.re[k][f], image.im[k][f]},
                           {model.re[k + 1][f], model.im[k + 1][f]}, {image.re[k + 1][f], image.im[k + 1][f]});
            re[f] += sum.re;
            im[f] += sum.im;
        }
    Grid2 a, b;
    for (int c = 0; c < GRID; ++c)
        for (int r = 0; r < GRID; ++r)
        {
            const int k = c * GRID + r;
            if (c < COLUMNS)
            {
                const Complex value = answerAt({re[k], im[k]});
                re[k] = value.re;
                im[k] = value.im;
                a.v[0][k] = value.re;
                a.v[1][k] = -value.im;
                continue;
            }
            const int m = conjugatePlace(c) * GRID + conjugatePlace(r);
            a.v[0][k] = re[m];
            a.v[1][k] = im[m];
        }
    transform(a, b, tables);
    PeakSearch search;
    search.begin(static_cast<int>(std::max_element(b.v[0], b.v[0] + CELLS) - b.v[0]));
    while (search.move(slopeAt(re, im, search.x, search.y, tables)))
        ;
    return search.result();
}

// --- training --------------------------------------------------------------------------------------------------------

void solution(const Spectra& image, const Spectra* before, const Spectra* added, const Tables& tables, Spectra& out)
{
    const float memory = before ? MEMORY : 0.f, weight = penaltyOf(added ? 1 : 0) + memory, inverse = 1.f / weight;
    const Complex none = {0.f, 0.f};
    for (int c = 0; c < COLUMNS; ++c)
    {
        Projection sums[GRID] = {};
        for (int k = 0; k < CHANNELS; ++k)
            for (int r = 0; r < GRID; ++r)
            {
                const int f = c * GRID + r;
                const Complex x = {image.re[k][f], image.im[k][f]};
                Complex q = wanted(x, tables.target[r] * tables.target[c],
                                   before ? Complex{before->re[k][f], before->im[k][f]} : none, memory);
                if (added)
                    q = {q.re + added->re[k][f], q.im + added->im[k][f]};
                sums[r].add(x, q);
                out.re[k][f] = q.re;
                out.im[k][f] = q.im;
            }
        for (Projection& sum : sums)
            sum.divide(weight);
        for (int k = 0; k < CHANNELS; ++k)
            for (int r = 0; r < GRID; ++r)
            {
                const int f = c * GRID + r;
                const Complex own =
                    solved({image.re[k][f], image.im[k][f]}, {out.re[k][f], out.im[k][f]}, sums[r].sum, inverse);
                out.re[k][f] = own.re;
                out.im[k][f] = own.im;
            }
    }
}

void constrainedPair(const TargetCells& target, int channel, const Tables& tables, Spectra& solution)
{
    Grid2 a, b;
    float *const re = solution.re[channel], *const im = solution.im[channel];
    for (int c = 0; c < COLUMNS; ++c)
        for (int r = 0; r < GRID; ++r)
        {
            const int k = c * GRID + r, m = conjugatePlace(c) * GRID + conjugatePlace(r);
            const Complex first = {re[k], im[k]}, second = {re[k + SPECTRUM], im[k + SPECTRUM]};
            const Complex own = joined(first, second), mirror = joinedMirror(first, second);
            a.v[0][k] = own.re;
            a.v[1][k] = own.im;
            if (c == 0 || 2 * c == GRID)
                continue;
            a.v[0][m] = mirror.re;
            a.v[1][m] = mirror.im;
        }
    // Columns of the target only: what is outside becomes 0.
    const int first = GRID / 2 - target.halfCols, last = GRID / 2 + target.halfCols;
    transformColumns(a, b, tables);
    transpose(b, a);
    transformColumns(a, b, tables, first, last);
    for (int y = 0; y < GRID; ++y)
        for (int x = 0; x < GRID; ++x)
        {
            const int k = y * GRID + x;
            const bool inside = target.has(x, y);
            a.v[0][k] = inside ? b.v[0][k] * INVERSE : 0.f;
            a.v[1][k] = inside ? -b.v[1][k] * INVERSE : 0.f;
        }
    b = {};
    transformColumns(a, b, tables, first, last);
    transpose(b, a);
    transformColumns(a, b, tables);
    for (int c = 0; c < COLUMNS; ++c)
        for (int r = 0; r < GRID; ++r)
        {
            const int k = c * GRID + r, m = conjugatePlace(c) * GRID + conjugatePlace(r);
            const Complex own = {b.v[0][k], b.v[1][k]}, mirror = {b.v[0][m], b.v[1][m]};
            const Complex one = firstSpectrum(own, mirror), other = secondSpectrum(own, mirror);
            re[k] = constrained(re[k], one.re);
            im[k] = constrained(im[k], one.im);
            re[k + SPECTRUM] = constrained(re[k + SPECTRUM], other.re);
            im[k + SPECTRUM] = constrained(im[k + SPECTRUM], other.im);
        }
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY
CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}}} // namespace cv::cuda::tld::correlation::cpu
