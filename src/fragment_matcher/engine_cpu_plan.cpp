// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// pack: sums of a template, and which terms and windows (engine_cpu.hpp) make up its score.
#include "../precomp.hpp"
#include "engine_cpu.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

TemplateSums templateSums(const uint8_t* templ, const uint8_t* q, int width, int height, int channels)
{
    TemplateSums sums = {};
    const size_t area = static_cast<size_t>(width) * height;
    for (size_t i = 0; i < area; ++i)
    {
        const uint32_t weight = q ? q[i] : 255;
        sums.W += weight;
        for (int c = 0; c < channels; ++c)
        {
            const uint32_t t = templ[i * channels + c];
            sums.qT[c] += weight * t;
            sums.qT2 += weight * t * t; // at most 255^3, fits
        }
    }
    return sums;
}

namespace {

//! Template bytes of one segment: 255 x 255 x this fits 32 bits, also with a sign.
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

//! Rows of bytes to rows of words of four bytes; what is missing in the last word becomes 0.
void packWords(const uint8_t* bytes, int width, size_t rows, int blocks, std::vector<uint32_t>& words)
{
    words.assign(rows * blocks, 0u);
    for (size_t y = 0; y < rows; ++y)
        memcpy(&words[y * blocks], bytes + y * width, width);
}

uint32_t sumOfBytes(const uint8_t* bytes, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += bytes[i];
    return sum;
}

} // namespace

void Plan::addTerm(int kind, int plane, int planes, const uint8_t* bytes, const uint8_t* weights,
                   const KernelTraits& traits)
{
    Term& term = terms[termCount++];
    term.kind = kind;
    const int padTo = kind == SAD_TERM ? traits.sadWidth : 4;
    term.blocks = (width + padTo - 1) / padTo * padTo / 4;
    packWords(bytes, width, static_cast<size_t>(planes) * height, term.blocks, term.taps);
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
                segment.constant = traits.bias * sumOfBytes((weights ? weights : bytes) + first, count);
            }
            term.segments.push_back(segment);
        }
}

void Plan::addWindow(int plane, int planes, int x, int windowWidth, bool squared)
{
    windows[windowCount++] = {plane, planes, x, windowWidth, squared};
}

void Plan::prepareUniform(const HostFragment& fragment, uint8_t q, const KernelTraits& traits)
{
    // Every sum of the definition is q times one without weights.
    unit = metric == METRIC_ZNCC ? 1 : q;
    templateSquares = fragment.sums.qT2 / q;
    if (metric == METRIC_SAD && traits.sadWidth == 0)
    {
        const std::vector<uint8_t> ones(bytes_.size(), 1);
        return addTerm(WEIGHTED_SAD_TERM, 0, channels, bytes_.data(), ones.data(), traits);
    }
    addTerm(metric == METRIC_SAD ? SAD_TERM : DOT_TERM, 0, channels, bytes_.data(), nullptr, traits);
    const int padding = terms[0].blocks * 4 - width;
    if (metric == METRIC_SAD && padding) // the term counts |I - 0| right of the template
        addWindow(0, channels, width, padding, false);
    if (metric == METRIC_SAD)
        return;
    addWindow(0, channels, 0, width, true);
    if (metric == METRIC_SSD)
        return;
    kn = fragment.sums.W * q;
    ka = static_cast<uint64_t>(q) * q;
    for (int c = 0; c < channels; ++c)
    {
        kc[c] = fragment.sums.qT[c] * q;
        addWindow(c, 1, 0, width, false);
    }
}

void Plan::prepareWeighted(const HostFragment& fragment, const KernelTraits& traits)
{
    const size_t area = static_cast<size_t>(width) * height, total = area * channels;
    std::vector<uint8_t> weights(total), part(total);
    for (int c = 0; c < channels; ++c)
        memcpy(&weights[c * area], fragment.q, area);
    if (metric == METRIC_SAD)
        return addTerm(WEIGHTED_SAD_TERM, 0, channels, bytes_.data(), weights.data(), traits);
    // 16-bit factors are taken apart: q T = low + 256 high, I^2 likewise, so that all terms multiply bytes.
    for (int shift = 0; shift <= 8; shift += 8)
    {
        for (size_t i = 0; i < total; ++i)
            part[i] = static_cast<uint8_t>((bytes_[i] * weights[i]) >> shift);
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
        if (metric == METRIC_ZNCC)
            addTerm(DOT_TERM, c, 1, weights.data(), nullptr, traits);
    }
}

void Plan::prepare(const HostFragment& fragment, int metricOfPlan, const KernelTraits& traits)
{
    metric = metricOfPlan;
    width = fragment.width;
    height = fragment.height;
    channels = fragment.channels;
    weighted = !isUniform(fragment);
    squares = false;
    unit = 1;
    variance = metric == METRIC_ZNCC ? templateVariance(fragment.sums) : 0;
    termCount = windowCount = 0;

    // Largest sum or value that a row can hold, with template rows padded to a multiple of 8 bytes.
    const uint64_t padded = static_cast<uint64_t>(width + 7) / 8 * 8 * height * channels;
    const uint64_t largest = metric == METRIC_SAD   ? padded * 255 * (weighted ? 255 : 1)
                             : metric == METRIC_SSD ? padded * 65025 * (weighted ? 255 : 1)
                                                    : padded * 65025;
    wide = largest > UINT32_MAX;

    const size_t area = static_cast<size_t>(width) * height;
    bytes_.resize(area * channels);
    for (int c = 0; c < channels; ++c)
        for (size_t i = 0; i < area; ++i)
            bytes_[c * area + i] = fragment.templ[i * channels + c];
    const uint8_t q = fragment.q ? fragment.q[0] : 255;
    if (weighted)
        prepareWeighted(fragment, traits);
    else
        prepareUniform(fragment, q, traits);
}

}}}} // namespace cv::cuda::fragment_matcher::cpu
