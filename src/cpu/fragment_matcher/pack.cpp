// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// pack: computes the sums of a template, and chooses the terms and windows (src/cpu/fragment_matcher/scores.hpp) of its
// score.
#include "../../precomp.hpp"
#include "scores.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

int quantiseRow(const float* weights, int width, uint8_t* q)
{
    for (int x = 0; x < width; ++x)
    {
        if (!(weights[x] >= 0.f && weights[x] <= 1.f)) // NaN too
            return x;
        q[x] = quantiseWeight(weights[x]);
    }
    return -1;
}

//! Returns the sums with all weights 255.
template <typename T> static TemplateSums uniformSums(const T* templ, size_t area, int channels)
{
    using Sum = std::conditional_t<sizeof(T) == 1, uint32_t, uint64_t>; // vectors of 32 bits are fast
    const size_t STRIP = 1 << 14;                                       // values of 8 bits whose sums fit 32 bits
    TemplateSums sums = {};
    sums.W = 255 * area;
    for (size_t begin = 0; begin < area; begin += STRIP)
    {
        const size_t end = std::min(area, begin + STRIP);
        for (int c = 0; c < channels; ++c)
        {
            Sum sum = 0, squares = 0;
            for (size_t i = begin; i < end; ++i)
            {
                const Sum t = templ[i * channels + c];
                sum += t;
                squares += t * t;
            }
            sums.qT[c] += uint64_t(255) * sum;
            sums.qT2 += uint64_t(255) * squares;
        }
    }
    return sums;
}

template <typename T> TemplateSums templateSums(const T* templ, const uint8_t* q, int width, int height, int channels)
{
    TemplateSums sums = {};
    const size_t area = static_cast<size_t>(width) * height;
    if (!q)
        return uniformSums(templ, area, channels);
    for (size_t i = 0; i < area; ++i)
    {
        const uint64_t weight = q[i];
        sums.W += weight;
        for (int c = 0; c < channels; ++c)
        {
            const uint64_t t = templ[i * channels + c];
            sums.qT[c] += weight * t;
            sums.qT2 += weight * t * t;
        }
    }
    return sums;
}

template TemplateSums templateSums(const uint8_t*, const uint8_t*, int, int, int);
template TemplateSums templateSums(const uint16_t*, const uint8_t*, int, int, int);

namespace {

//! Most template bytes per segment: 255 x 255 x SEGMENT_BYTES fits 32 bits, also signed.
const int64_t SEGMENT_BYTES = 33000;

bool isUniform(const HostFragment& fragment)
{
    if (!fragment.q)
        return true;
    const size_t area = static_cast<size_t>(fragment.width) * fragment.height;
    for (size_t i = 1; i < area; ++i)
        if (fragment.q[i] != fragment.q[0])
            return false;
    return true;
}

//! Packs rows of bytes to rows of words of four bytes; missing bytes of the last word are 0.
void packWords(const uint8_t* bytes, int width, size_t rows, int blocks, std::vector<uint32_t>& words)
{
    words.assign(rows * blocks, 0u);
    for (size_t y = 0; y < rows; ++y)
        memcpy(&words[y * blocks], bytes + y * width, width);
}

//! Packs the nine combinations of the rows of `planes` templates (see src/cpu/fragment_matcher/scores_pairs.hpp), two
//! neighbours per word.
void packPairs(const uint8_t* bytes, int width, int height, int planes, std::vector<uint32_t>& words)
{
    const int rows = (height + 3) / 4, blocks = (width + 1) / 2;
    words.assign(static_cast<size_t>(9) * planes * rows * blocks, 0u);
    for (int p = 0; p < planes; ++p)
        for (int y = 0; y < rows; ++y)
            for (int x = 0; x < width; ++x)
            {
                uint32_t t[4] = {0, 0, 0, 0};
                for (int i = 0; i < 4 && 4 * y + i < height; ++i)
                    t[i] = bytes[(static_cast<size_t>(p) * height + 4 * y + i) * width + x];
                const uint32_t even = t[0] + t[2], odd = t[1] + t[3], first = t[0] + t[1], second = t[2] + t[3];
                const uint32_t combined[9] = {even + odd, first, second, even, t[0], t[2], odd, t[1], t[3]};
                for (int c = 0; c < 9; ++c)
                    words[((static_cast<size_t>(c) * planes + p) * rows + y) * blocks + x / 2] |=
                        combined[c] << (x % 2 * 16); // pairs exist on little-endian processors only
            }
}

//! Copies the template to planes of bytes, in the order of Plan::bytes.
void splitTemplate(const HostFragment& fragment, size_t area, std::vector<uint8_t>& bytes)
{
    const int channels = fragment.channels;
    bytes.resize(area * channels * (fragment.deep ? 2 : 1));
    for (int c = 0; c < channels; ++c)
        for (size_t i = 0; i < area; ++i)
        {
            if (!fragment.deep)
            {
                bytes[c * area + i] = static_cast<const uint8_t*>(fragment.templ)[i * channels + c];
                continue;
            }
            const uint16_t value = static_cast<const uint16_t*>(fragment.templ)[i * channels + c];
            bytes[c * area + i] = static_cast<uint8_t>(value >> 8);
            bytes[(channels + c) * area + i] = static_cast<uint8_t>(value);
        }
}

uint32_t sumOfBytes(const uint8_t* bytes, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += bytes[i];
    return sum;
}

} // namespace

size_t Plan::size() const
{
    const auto bytesOf = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
    size_t sum = bytesOf(bytes);
    for (const Term& term : terms)
        sum += bytesOf(term.taps) + bytesOf(term.weights) + bytesOf(term.pairs) + bytesOf(term.segments);
    return sum;
}

void Plan::addTerm(int kind, int plane, int planes, const uint8_t* samples, const uint8_t* weights,
                   const KernelTraits& traits)
{
    Term& term = terms[termCount++];
    term.kind = kind;
    const int padTo = kind == SAD_TERM ? traits.sadWidth : 4;
    term.blocks = detail::roundUp(width, padTo) / 4;
    packWords(samples, width, static_cast<size_t>(planes) * height, term.blocks, term.taps);
    if (weights)
        packWords(weights, width, static_cast<size_t>(planes) * height, term.blocks, term.weights);
    else
        term.weights.clear();

    term.segments.clear();
    const int64_t rowBytes = 4 * static_cast<int64_t>(term.blocks);
    const bool whole = rowBytes * height * planes <= SEGMENT_BYTES;
    const int rowsInSegment = whole ? height : static_cast<int>(std::max<int64_t>(1, SEGMENT_BYTES / rowBytes));
    const int planesInSegment = whole ? planes : 1;
    for (int p = 0; p < planes; p += planesInSegment)
        for (int y = 0; y < height; y += rowsInSegment)
        {
            const int end = std::min(height, y + rowsInSegment);
            Segment segment = {plane + p, planesInSegment, y, end, 0};
            if (kind != SAD_TERM && traits.bias)
            {
                const size_t first = (static_cast<size_t>(p) * height + y) * width;
                const size_t count = static_cast<size_t>(whole ? planes * height : end - y) * width;
                segment.constant = traits.bias * sumOfBytes((weights ? weights : samples) + first, count);
            }
            term.segments.push_back(segment);
        }
    const bool pairs = traits.pairs && kind == DOT_TERM && whole && height >= 4;
    if (pairs)
        packPairs(samples, width, height, planes, term.pairs);
    else
        term.pairs.clear();
}

void Plan::addWindow(int plane, int planes, int x, int windowWidth, bool squared)
{
    windows[windowCount++] = {plane, planes, x, windowWidth, squared, deep ? channels : 0};
}

//! Prepares SAD. @param weights weight of each byte of the template; null: all are equal.
void Plan::prepareDifferences(const uint8_t* weights, const KernelTraits& traits)
{
    if (weights)
        return addTerm(WEIGHTED_SAD_TERM, 0, channels, bytes.data(), weights, traits);
    if (traits.sadWidth == 0)
    {
        const std::vector<uint8_t> ones(bytes.size(), 1);
        return addTerm(WEIGHTED_SAD_TERM, 0, channels, bytes.data(), ones.data(), traits);
    }
    addTerm(SAD_TERM, 0, channels, bytes.data(), nullptr, traits);
    const int padding = terms[0].blocks * 4 - width;
    if (padding) // the term counts |I - 0| right of the template
        addWindow(0, channels, width, padding, false);
}

void Plan::prepareUniform(const HostFragment& fragment, uint8_t weight, const KernelTraits& traits)
{
    // Each sum of the definition is this weight times the sum without weights.
    unit = isCorrelation(metric) ? 1 : weight;
    templateSquares = fragment.sums.qT2 / weight;
    switch (metric)
    {
    case Metric::SAD:
        return prepareDifferences(nullptr, traits);
    case Metric::SSD:
    case Metric::ZNCC:
        break;
    }
    if (deep)
    {
        const auto low = bytes.begin() + static_cast<ptrdiff_t>(bytes.size() / 2);
        const std::vector<uint8_t> factor[] = {{bytes.begin(), low}, {low, bytes.end()}};
        addDeepTerms(factor, 2, traits);
    }
    else
        addTerm(DOT_TERM, 0, channels, bytes.data(), nullptr, traits);
    addWindow(0, channels, 0, width, true);
    if (!isCorrelation(metric))
        return;
    kn = fragment.sums.W * weight;
    ka = static_cast<uint64_t>(weight) * weight;
    for (int c = 0; c < channels; ++c)
    {
        kc[c] = fragment.sums.qT[c] * weight;
        addWindow(c, 1, 0, width, false);
    }
}

/** Adds the terms of the products of the image, of 16 bits, and a factor of `count` bytes, one for each place value,
the highest first: the sum is the value of the terms as digits to the base 256.
@param factor its bytes, high ones first, in the layout of the template's channels. */
void Plan::addDeepTerms(const std::vector<uint8_t>* factor, int count, const KernelTraits& traits)
{
    addTerm(DOT_TERM, 0, channels, factor[0].data(), nullptr, traits);
    for (int k = 1; k < count; ++k)
    {
        std::vector<uint8_t> both = factor[k]; // meets the high bytes of the image, the byte above meets the low ones
        both.insert(both.end(), factor[k - 1].begin(), factor[k - 1].end());
        addTerm(DOT_TERM, 0, 2 * channels, both.data(), nullptr, traits);
    }
    addTerm(DOT_TERM, channels, channels, factor[count - 1].data(), nullptr, traits);
}

//! Prepares SSD and ZNCC of 16 bits with weights: q T is a factor of three bytes, I^2 has four.
void Plan::prepareDeepWeights(const HostFragment& fragment, const KernelTraits& traits)
{
    const size_t area = static_cast<size_t>(width) * height, total = area * channels;
    std::vector<uint8_t> weights(total), factor[3];
    for (std::vector<uint8_t>& part : factor)
        part.resize(total);
    for (size_t i = 0; i < total; ++i)
    {
        weights[i] = fragment.q[i % area];
        const uint32_t product = weights[i] * (bytes[i] * 256u + bytes[total + i]);
        for (int k = 0; k < 3; ++k)
            factor[k][i] = static_cast<uint8_t>(product >> (16 - 8 * k));
    }
    addDeepTerms(factor, 3, traits);
    for (int k = 0; k < 4; ++k)
        addTerm(DOT_TERM, (2 + k) * channels, channels, weights.data(), nullptr, traits);
    for (int c = 0; c < channels && isCorrelation(metric); ++c)
    {
        addTerm(DOT_TERM, c, 1, weights.data(), nullptr, traits);
        addTerm(DOT_TERM, channels + c, 1, weights.data(), nullptr, traits);
    }
    squares = true;
    templateSquares = fragment.sums.qT2;
}

void Plan::prepareWeighted(const HostFragment& fragment, const KernelTraits& traits)
{
    if (deep)
        return prepareDeepWeights(fragment, traits);
    const size_t area = static_cast<size_t>(width) * height, total = area * channels;
    std::vector<uint8_t> weights(total), part(total);
    for (int c = 0; c < channels; ++c)
        memcpy(&weights[c * area], fragment.q, area);
    switch (metric)
    {
    case Metric::SAD:
        return prepareDifferences(weights.data(), traits);
    case Metric::SSD:
    case Metric::ZNCC:
        break;
    }
    // 16-bit factors are split: q T = low + 256 high, I^2 likewise, so that all terms multiply bytes.
    for (int shift = 0; shift <= 8; shift += 8)
    {
        for (size_t i = 0; i < total; ++i)
            part[i] = static_cast<uint8_t>((bytes[i] * weights[i]) >> shift);
        addTerm(DOT_TERM, 0, channels, part.data(), nullptr, traits);
    }
    addTerm(DOT_TERM, channels, channels, weights.data(), nullptr, traits);
    addTerm(DOT_TERM, 2 * channels, channels, weights.data(), nullptr, traits);
    squares = true;
    templateSquares = fragment.sums.qT2;
    kn = fragment.sums.W;
    ka = 1;
    for (int c = 0; c < channels; ++c)
    {
        kc[c] = fragment.sums.qT[c];
        if (isCorrelation(metric))
            addTerm(DOT_TERM, c, 1, weights.data(), nullptr, traits);
    }
}

void Plan::prepare(const HostFragment& fragment, Metric metricOfPlan, const KernelTraits& traits)
{
    metric = metricOfPlan;
    width = fragment.width;
    height = fragment.height;
    channels = fragment.channels;
    deep = fragment.deep;
    weighted = !isUniform(fragment);
    squares = false;
    unit = 1;
    sums = fragment.sums;
    deviation = deep ? deepDeviation(sums) : templateDeviation(templateVariance(sums));
    termCount = windowCount = 0;
    bias = planeBias(metric);
    q = fragment.q;
    kn = ka = kc[0] = kc[1] = kc[2] = 0;

    // Largest sum or value, with template rows padded to a multiple of 8 bytes.
    const uint64_t padded = static_cast<uint64_t>(detail::roundUp(width, 8)) * height * channels;
    const uint64_t largestSum =
        padded * largestDifference(metric) *
        (weighted && !isCorrelation(metric) ? 255 : 1); // ZNCC: sums of bytes of products, values are 32 bits
    wide = deep || largestSum > UINT32_MAX;

    splitTemplate(fragment, static_cast<size_t>(width) * height, bytes);
    if (weighted)
        prepareWeighted(fragment, traits);
    else
        prepareUniform(fragment, q ? q[0] : 255, traits);
}

void pack(const HostFragment& fragment, Metric metric, Plan& plan)
{
    plan.prepare(fragment, metric, kernelTraitsHere());
}

bool mayNeedSquares(Metric metric, bool weighted) { return weighted && isProduct(metric); }

uint8_t planeBias(Metric metric) { return isProduct(metric) ? kernelTraitsHere().bias : 0; }

}}}} // namespace cv::cuda::fragment_matcher::cpu
