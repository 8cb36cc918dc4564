// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify on the CPU for narrow models. All stages are evaluated on one list of a tile's octets. An octet leaves
// the list when none of its windows is left.
#include "../../precomp.hpp"
#include "opencv2/core/hal/intrin.hpp"
#include "tile.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade { namespace cpu {

namespace {

const int ROW_OCTETS = TILE_COLS / 8;
//! First stage after which octets are cut anew. Before, most octets have neighbours, which are loaded faster while all
//! begin at multiples of 8.
const int FIRST_CUT = 2;

int ones(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555ull;
    bits = (bits & 0x3333333333333333ull) + (bits >> 2 & 0x3333333333333333ull);
    return static_cast<int>(((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56);
}

//! Octets of a tile, in the order of rows and columns. Those in which a window is left are on the list.
class OctetList
{
public:
    OctetList(const Tile& tile, Scratch& scratch) : tile_(tile), scratch_(scratch)
    {
        const size_t room = STRIP_ROWS * ROW_OCTETS + 64; // for whole vectors
        scratch_.places.resize(std::max(scratch_.places.size(), room));
        scratch_.octets.resize(std::max(scratch_.octets.size(), room));
        for (int j = 0; j < tile_.rows; ++j)
            for (int i = 0; i < tile_.cols; i += 8)
                push(j * rowPlaces() + i, tile_.cols - i >= 8 ? 255u : (1u << (tile_.cols - i)) - 1);
    }

    //! Applies the first stage and the skip rule.
    void firstStage()
    {
        evaluate(0);
        const int octets = detail::ceilDiv(tile_.cols, 8);
        count_ = 0; // the list is written anew from its beginning, behind what is read
        for (int j = 0; j < tile_.rows; ++j)
            skip(j, j * octets, octets);
    }

    //! Evaluates a stage. @param weights out: sums of leaves; may be null.
    void evaluate(int stage, int64_t* weights = nullptr)
    {
        const NarrowModel& model = tile_.prepared.narrow;
        const int whole = detail::roundUp(count_, octetsPerVector());
        std::fill(places() + count_, places() + whole, count_ ? places()[0] : 0);
        std::fill(octets() + count_, octets() + whole, static_cast<uint8_t>(0));
        evaluateOctets({model.stumps[tile_.layer.step - 1].data(), scratch_.narrowSums.data(), places(), octets(),
                        count_, weights},
                       model, model.stages[stage]);
    }

    //! Drops octets without windows.
    void drop()
    {
        int* const places = scratch_.places.data();
        uint8_t* const octets = scratch_.octets.data();
        int left = 0;
        for (int k = 0, count = count_; k < count; ++k)
        {
            const uint8_t windows = octets[k];
            places[left] = places[k];
            octets[left] = windows;
            left += windows != 0;
        }
        count_ = left;
    }

    //! Cuts octets anew, so that each begins with a window that is left: they become fewer. Drops octets without
    //! windows.
    void cut()
    {
        int* const places = scratch_.places.data();
        uint8_t* const octets = scratch_.octets.data();
        int left = 0, last = -8; // last: place of the last octet
        unsigned windows = 0;    // of the last octet
        for (int k = 0, count = count_; k < count; ++k)
        {
            unsigned more = octets[k];
            int place = places[k];
            if (place - last < 8)
            {
                octets[left - 1] = static_cast<uint8_t>(windows |= more << (place - last));
                more >>= last + 8 - place;
                place = last + 8;
            }
            if (more == 0)
                continue;
            const unsigned zeros = trailingZeros32(more);
            last = place + static_cast<int>(zeros);
            windows = more >> zeros;
            places[left] = last;
            octets[left] = static_cast<uint8_t>(windows);
            ++left;
        }
        count_ = left;
    }

    int countWindows() const
    {
        int sum = 0;
        for (int k = 0; k < count_; ++k)
            sum += ones(scratch_.octets[k]);
        return sum;
    }

    //! Appends all windows to the candidates. Evaluates the last stage once more, for their weights.
    void addCandidates()
    {
        if (count_ == 0)
            return;
        const int last = static_cast<int>(tile_.model().stages.size()) - 1;
        scratch_.weights.resize(8 * scratch_.places.size());
        evaluate(last, scratch_.weights.data());
        for (int k = 0; k < count_; ++k)
            for (int i = 0; i < 8; ++i)
                if (octets()[k] >> i & 1)
                    addCandidate(tile_, places()[k] % rowPlaces() + i, places()[k] / rowPlaces(),
                                 weightOf(scratch_.weights[8 * k + i], tile_.model().stages[last].shift));
    }
    int count() const { return count_; }

private:
    int rowPlaces() const { return tile_.layout.step * tile_.layout.stride; }
    int* places() { return scratch_.places.data(); }
    uint8_t* octets() { return scratch_.octets.data(); }
    void push(int place, unsigned windows)
    {
        places()[count_] = place;
        octets()[count_] = static_cast<uint8_t>(windows);
        count_ += windows != 0;
    }

    //! Applies the skip rule to a row of windows that the first stage was evaluated on. @param first index of the row's
    //! first octet.
    void skip(int j, int first, int count)
    {
        uint8_t& carry = scratch_.carry[j];
        for (int i = 0; i < tile_.cols; i += 64)
        {
            const uint64_t all =
                tile_.cols - i >= 64 ? ~static_cast<uint64_t>(0) : (static_cast<uint64_t>(1) << (tile_.cols - i)) - 1;
            uint64_t passed = 0;
            const int n = std::min(count - i / 8, 8);
            for (int k = 0; k < n; ++k)
                passed |= static_cast<uint64_t>(octets()[first + i / 8 + k]) << (8 * k);
            bool skips = carry != 0;
            const uint64_t skipped = skippedOf<uint64_t>(all & ~passed, skips);
            carry = skips;
            passed &= ~skipped;
            if (tile_.passes)
            {
                const int evaluated = ones(all & ~skipped);
                tile_.passes->evaluated += evaluated;
                tile_.passes->contrast += evaluated;
            }
            for (int k = 0; k < n; ++k)
                push(j * rowPlaces() + i + 8 * k, static_cast<unsigned>(passed >> (8 * k)) & 255u);
        }
    }

    const Tile& tile_;
    Scratch& scratch_;
    int count_ = 0;
};

} // namespace

void classifyNarrow(const Tile& tile, Scratch& scratch)
{
    const int stages = static_cast<int>(tile.model().stages.size());
    if (tile.passes)
        tile.passes->windows += static_cast<int64_t>(tile.cols) * tile.rows;
    OctetList list(tile, scratch);
    list.firstStage();
    const auto finish = [&](int stage)
    {
        list.drop();
        if (tile.passes)
            tile.passed(stage, list.countWindows());
    };
    finish(0);
    for (int s = 1; s < stages && list.count() > 0; ++s)
    {
        list.evaluate(s);
        if (s >= FIRST_CUT)
            list.cut();
        finish(s);
    }
    list.addCandidates();
}

}}}} // namespace cv::cuda::cascade::cpu
