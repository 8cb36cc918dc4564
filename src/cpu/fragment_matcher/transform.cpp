// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score: DOT terms of large fragments by discrete Fourier transforms in double precision, with exact results.
//
// Proof: a sum is an integer, and the result of the transforms has an error of less than 1/4, so rounding gives that
// integer. Let u = 2^-53, N the number of values in a tile, |x| the root of a sum of squares. A stage of radix r rounds
// each of its sums log2(r) times (radix 3: 4 times, 5: 6 times, 8: 5 times), once per product with a factor or twice
// without fused multiply-add, and factors have a relative error of 3 u: at most 8 u log2(r) in all, for each of the
// radices. Stages are unitary except for scale, so the error of a spectrum is at most 8 u log2(N) times its norm
// (Higham, Accuracy and Stability of Numerical Algorithms, 24.1). In the inverse, a stage combines to each value a
// correlation of parts of both spectra, whose magnitudes add up to at most |I| |T| (Cauchy-Schwarz), so that the stage
// adds an error of at most 8 u log2(r) |I| |T|. Both spectra and the inverse: 3 * 8 u log2(N) |I| |T|, and a few u for
// the products. With bytes, two parts of the image in a tile of N <= 2^22 values, and P planes in a sum, |I| <= sqrt(2)
// 255 2^11 and |T| <= 255 sqrt(w h), so the error of the sum is at most
//
//   24 * 2^-53 * 22 * sqrt(2) 255 * 2^11 * 255 sqrt(w h) P  =  1.11e-5 sqrt(w h) P,
//
// less than 1/4 as long as sqrt(w h) P < 22000; larger fragments are summed row by row.
#include "../../precomp.hpp"
#include "../../common/parts.hpp"
#include "dft.simd.hpp"
#include "cpu/fragment_matcher/dft.simd_declarations.hpp" // made by CMake: CV_CPU_DISPATCH_MODES_ALL

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

// --- transforms ------------------------------------------------------------------------------------------------------

static bool isDftLength(int length)
{
    for (const int radix : {2, 3, 5})
        while (length % radix == 0)
            length /= radix;
    return length == 1;
}

Dft::Dft(int count, int unit) : length(count), last(unit)
{
    // exp(-2 pi i k / length), from angles of at most a quarter of pi, so that the error is little more than one
    // rounding.
    std::vector<double> re(length), im(length);
    for (int k = 0; k < length; ++k)
    {
        const int64_t eighths = int64_t(8) * k; // angle in eighths of a turn, times length
        const int64_t quarter = (eighths / length + 1) / 2;
        const double angle = CV_PI / 4 * static_cast<double>(eighths - 2 * quarter * length) / length;
        const double c = std::cos(angle), s = std::sin(angle);
        const double turned[] = {c, -s, -c, s}; // cos(angle + k pi / 2)
        re[k] = turned[quarter % 4];
        im[k] = turned[(quarter + 1) % 4]; // -sin(x) = cos(x + pi / 2)
    }
    for (int part = length; part > last;)
    {
        const int rest = part / last;
        // Radix 4, with one stage of radix 8 if the power of two is odd.
        const int radix = rest % 16 == 8 ? 8 : rest % 4 == 0 ? 4 : rest % 2 == 0 ? 2 : rest % 3 == 0 ? 3 : 5;
        const int step = part / radix, times = length / part;
        stages.push_back({radix, step, factors.size()});
        for (int first = 0; first < step; first += last)
            for (int q = 1; q < radix; ++q)
                for (int kind = 0; kind < 3; ++kind)
                    for (int t = first; t < first + last; ++t)
                    {
                        const int k = static_cast<int>(static_cast<int64_t>(q) * t * times % length);
                        factors.push_back(kind == 0 ? re[k] : kind == 1 ? im[k] : -im[k]);
                    }
        part = step;
    }
}

namespace {

int lanesHere() { CV_CPU_DISPATCH(dftLanes, (), CV_CPU_DISPATCH_MODES_ALL); }

void forward(const Tile& tile, const TileBytes& a, const TileBytes& b, double* row, double* values)
{
    CV_CPU_DISPATCH(forwardRows, (tile, a, b, row, values), CV_CPU_DISPATCH_MODES_ALL);
}

void finishTemplate(const Tile& tile, double* values)
{
    CV_CPU_DISPATCH(templateColumns, (tile, values), CV_CPU_DISPATCH_MODES_ALL);
}

void multiply(const Tile& tile, const std::vector<Product>& products, int count, double* strips, double* values)
{
    CV_CPU_DISPATCH(multiplyColumns, (tile, products, count, strips, values), CV_CPU_DISPATCH_MODES_ALL);
}

void inverse(const Tile& tile, const double* values, double* row, const TileSums& a, const TileSums& b)
{
    CV_CPU_DISPATCH(inverseRows, (tile, values, row, a, b), CV_CPU_DISPATCH_MODES_ALL);
}

// --- tiles -----------------------------------------------------------------------------------------------------------

const int LARGEST_TILE = 1 << 22;

//! Division of a window into tiles of `cols` x `rows` values, each with (cols - width + 1) x (rows - height + 1)
//! positions.
struct Tiling
{
    int cols, rows;
    double cost; //!< cost of all transforms
};

int planesOf(const Plan& plan, const Term& term)
{
    return static_cast<int>(term.taps.size() / (static_cast<size_t>(term.blocks) * plan.height));
}

//! Number of transforms.
struct Transforms
{
    int planes, sums; //!< planes of the image and sums, per pair of tiles
    int templates;    //!< planes of templates, once
};

Transforms transformsOf(const Plan& plan)
{
    Transforms of = {0, plan.termCount, 0};
    for (int k = 0; k < plan.termCount; ++k)
    {
        of.planes = std::max(of.planes, plan.terms[k].segments[0].plane + planesOf(plan, plan.terms[k]));
        of.templates += planesOf(plan, plan.terms[k]);
    }
    return of;
}

//! Returns lengths of transforms for tiles that hold a side of a fragment and some of its positions, up to all or to
//! six sides.
std::vector<int> lengthsFor(int side, int positions, int unit)
{
    const int64_t most = std::min(int64_t(side) + positions - 1, std::max(int64_t(768), 6 * int64_t(side)));
    std::vector<int> lengths;
    for (int n = detail::roundUp(side, unit); lengths.empty() || lengths.back() < most; n += unit)
        if (isDftLength(n))
            lengths.push_back(n);
    return lengths;
}

/** Returns the tiles with the least cost. The cost of a transform is its number of values times its number of stages,
plus a constant per value. Values that do not fit the caches cost a fifth more for each doubling:
    cost per unit | device, level-2 cache, instruction set | values of three planes
    0.13 ns       | Intel Xeon, 2 MB, AVX-512              | up to 2^14
    0.27 ns       | Intel Xeon, 2 MB, AVX-512              | 2^20 */
Tiling tilingOf(const Plan& plan, const SearchWindow& window, int threads)
{
    const Transforms of = transformsOf(plan);
    const int lanes = lanesHere();
    const std::vector<int> rowLengths = lengthsFor(plan.height, window.rows, 1);
    const auto shared = [&](int64_t count) { return static_cast<double>((count + threads - 1) / threads * threads); };
    Tiling best = {0, 0, DBL_MAX};
    for (const int cols : lengthsFor(plan.width, window.cols, std::max(2, lanes * lanes)))
        for (const int rows : rowLengths)
        {
            if (static_cast<int64_t>(cols) * rows > LARGEST_TILE)
                continue;
            const int64_t tiles = static_cast<int64_t>(detail::ceilDiv(window.cols, cols - plan.width + 1)) *
                                  detail::ceilDiv(window.rows, rows - plan.height + 1);
            const double values = static_cast<double>(cols) * rows, stages = std::log2(values);
            const double beyond = std::max(0., stages + std::log2(of.planes) - 15.5);
            const double transforms = shared((tiles + 1) / 2) * (of.planes + of.sums) + shared(of.templates);
            const double cost = values * (stages + 8) * (1 + .2 * beyond) * transforms;
            if (cost < best.cost)
                best = {cols, rows, cost};
        }
    return best;
}

//! Calls body(begin, end, memory) for parts of 0..count, on all threads if there is a pool.
template <class Body> void forParts(int count, Scratch& memory, ScratchPool* pool, const Body& body)
{
    if (!pool)
        return body(0, count, memory);
    parallel_for_(Range(0, count),
                  [&](const Range& range)
                  {
                      const ScratchPool::Lease scratch(*pool);
                      body(range.start, range.end, *scratch);
                  });
}

//! Computes the spectra of all templates of a plan in `memory`. @return the products with them.
std::vector<Product> productsOf(const Plan& plan, const Tile& tile, Buffer& memory, Scratch& scratch, ScratchPool* pool)
{
    const int count = transformsOf(plan).templates;
    double* const spectra = memory.get<double>(tile.size() * count);
    std::vector<Product> products(plan.termCount);
    std::vector<TileBytes> bytes;
    for (int k = 0; k < plan.termCount; ++k)
    {
        const Term& term = plan.terms[k];
        const size_t step = static_cast<size_t>(term.blocks) * sizeof(uint32_t);
        const uint8_t* const taps = reinterpret_cast<const uint8_t*>(term.taps.data());
        products[k].plane = term.segments[0].plane;
        for (int p = 0; p < planesOf(plan, term); ++p)
        {
            products[k].templates.push_back(spectra + bytes.size() * tile.size());
            bytes.push_back({taps + p * plan.height * step, step, plan.width, plan.height, 0});
        }
    }
    forParts(count, scratch, pool,
             [&](int begin, int end, Scratch& own)
             {
                 double* const row = own.tiles.get<double>(tile.scratch());
                 const TileBytes nothing = {nullptr, 0, 0, 0, 0};
                 for (int i = begin; i < end; ++i)
                 {
                     forward(tile, bytes[i], nothing, row, spectra + i * tile.size());
                     finishTemplate(tile, spectra + i * tile.size());
                 }
             });
    return products;
}

} // namespace

/** Returns the cost of a product of bytes in tilingOf()'s unit.
    product  | unit    | device                   | case: one thread, sides of 24 to 64 px
    0.004 ns | 0.13 ns | Intel Xeon, AVX-512 VNNI |
    0.008 ns | 0.13 ns | Intel Xeon, AVX-512      |
    0.011 ns | 0.16 ns | Intel Xeon, AVX2         |
    0.02 ns  | 0.24 ns | Intel Xeon, SSE3         | */
static double costOfProduct(const KernelTraits& traits) { return traits.bias ? .03 : .07; }

bool transforms(const Plan& plan, const SearchWindow& window, bool parallel)
{
    if (!isProduct(plan.metric) || plan.width < 16 || plan.height < 16)
        return false;
    double products = 0;
    for (int k = 0; k < plan.termCount; ++k)
    {
        const int planes = planesOf(plan, plan.terms[k]);
        if (std::sqrt(static_cast<double>(plan.width) * plan.height) * planes >= 22000)
            return false;
        products += static_cast<double>(plan.width) * plan.height * planes;
    }
    const double cost = products * costOfProduct(kernelTraitsHere()); // cost per position, row by row
    const Transforms of = transformsOf(plan);
    // The least cost of tiles: values of a tile per position on either axis, and stages, both at least; two tiles share
    // a transform.
    const double values = (1 + (plan.width - 1.) / window.cols) * (1 + (plan.height - 1.) / window.rows);
    const double stages = std::log2(static_cast<double>(plan.width) * plan.height);
    if (cost < values * (stages + 8) / 2 * (of.planes + of.sums))
        return false;
    return tilingOf(plan, window, parallel ? std::max(1, getNumThreads()) : 1).cost < cost * window.cols * window.rows;
}

TermSums correlate(const Plan& plan, const Planes& planes, const SearchWindow& window, Scratch& memory,
                   ScratchPool* pool)
{
    const Tiling tiling = tilingOf(plan, window, pool ? std::max(1, getNumThreads()) : 1);
    const Tile tile(tiling.cols, tiling.rows, lanesHere());
    TermSums sums;
    sums.stride = alignRow(window.cols);
    sums.termStride = sums.stride * window.rows;
    const size_t sumBytes = plan.wide ? sizeof(uint64_t) : sizeof(uint32_t);
    sums.sums = memory.terms.get<uint8_t>(sumBytes * sums.termStride * plan.termCount);
    const std::vector<Product> products = productsOf(plan, tile, memory.spectra, memory, pool);
    const int count = transformsOf(plan).planes;
    const int cols = tiling.cols - plan.width + 1, rows = tiling.rows - plan.height + 1;
    const int tilesX = detail::ceilDiv(window.cols, cols), tiles = tilesX * detail::ceilDiv(window.rows, rows);
    const auto partOf = [&](int i)
    {
        const int x = i % tilesX * cols, y = i / tilesX * rows;
        return i < tiles ? Rect(x, y, std::min(cols, window.cols - x), std::min(rows, window.rows - y)) : Rect();
    };
    const auto bytesOf = [&](int plane, const Rect& part) -> TileBytes
    {
        if (part.empty())
            return {nullptr, 0, 0, 0, 0};
        return {planes.pixel(plane, part.x, part.y), planes.step, part.width + plan.width - 1,
                part.height + plan.height - 1, planes.bias};
    };
    const auto sumsOf = [&](int term, const Rect& part) -> TileSums
    {
        const size_t at = term * sums.termStride + part.y * sums.stride + part.x;
        return {{static_cast<uint8_t*>(sums.sums) + sumBytes * at, sums.stride, 0}, plan.wide, part.width, part.height};
    };

    forParts((tiles + 1) / 2, memory, pool,
             [&](int begin, int end, Scratch& own)
             {
                 const int most = std::max(count, plan.termCount);
                 double *row = nullptr, *strips = nullptr, *values = nullptr;
                 const auto take = [&](detail::Parts& parts)
                 {
                     row = parts.take<double>(tile.scratch());
                     strips = parts.take<double>(tile.strip * most);
                     values = parts.take<double>(tile.size() * most);
                 };
                 detail::Parts parts(own.tiles.get<uint8_t>(detail::bytesOf(take)));
                 take(parts);
                 for (int pair = begin; pair < end; ++pair)
                 {
                     const Rect a = partOf(2 * pair), b = partOf(2 * pair + 1);
                     for (int p = 0; p < count; ++p)
                         forward(tile, bytesOf(p, a), bytesOf(p, b), row, values + p * tile.size());
                     multiply(tile, products, count, strips, values);
                     for (int k = 0; k < plan.termCount; ++k)
                         inverse(tile, values + k * tile.size(), row, sumsOf(k, a), sumsOf(k, b));
                 }
             });
    return sums;
}

}}}} // namespace cv::cuda::fragment_matcher::cpu
