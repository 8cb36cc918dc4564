// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The routes of FragmentMatcher's CUDA backend, and the table that chooses among them.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "choose.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace cv { namespace cuda { namespace fragment_matcher {

extern const Route FUSED_BANDS, FUSED, BANDS, BOUNDED_TILES, TILES, SLICES, TRANSFORMS, FUSED_DEEP_BANDS, DEEP_BANDS;

const Route* const ROUTES[] = {&FUSED_BANDS,      &FUSED,     &BANDS, &BOUNDED_TILES, &TILES, &SLICES, &TRANSFORMS,
                               &FUSED_DEEP_BANDS, &DEEP_BANDS};
const size_t ROUTE_COUNT = sizeof(ROUTES) / sizeof(ROUTES[0]);

namespace {

//! Metrics that a row of the table is for.
enum Kind
{
    SAD,
    SSD,      //!< without weights
    ZNCC,     //!< without weights
    WEIGHTED, //!< SSD and ZNCC with weights
    ALL
};

//! Images that a row of the table is for.
enum Type
{
    GRAY,
    COLOR,
    ANY
};

//! Numbers from `from` on and below `below`. {}: all.
struct Span
{
    double from = 0, below = std::numeric_limits<double>::infinity();

    bool has(double value) const { return value >= from && value < below; }
};

//! Loads that a route matches, if it applies to them.
struct Threshold
{
    Kind kind;
    Type type;
    Span side;      //!< square root of the pixels of the largest fragment
    Span positions; //!< of the largest window
    Span fragments; //!< on a device with 132 multiprocessors; on others in proportion
    const Route* route;
};

/** The route of a load is that of the first row that fits and whose route applies. A route does not apply where a block
has too little shared memory for it, among others, so rows after it must be right for what it leaves; TILES takes all
images of 8 bits, DEEP_BANDS all of 16. How the numbers were found: doc/engineering/fragment_matcher.md. */
const Threshold THRESHOLDS[] = {
    {ALL, ANY, {}, {0, 1}, {}, &FUSED},
    {ALL, ANY, {}, {0, 1}, {}, &TILES},
    {SAD, ANY, {0, 88}, {}, {70}, &FUSED},
    {SAD, ANY, {0, 15}, {}, {20}, &FUSED},
    {SAD, ANY, {}, {450}, {}, &BOUNDED_TILES},
    {SAD, COLOR, {9}, {230, 2500}, {}, &SLICES},
    {SAD, ANY, {36}, {}, {}, &SLICES},
    {SAD, ANY, {22}, {850, 7000}, {}, &SLICES},
    {SAD, COLOR, {4}, {}, {70}, &SLICES},
    {SAD, ANY, {}, {}, {}, &FUSED},
    {SSD, ANY, {88}, {28000}, {}, &TRANSFORMS},
    {SSD, ANY, {12}, {3400}, {20}, &BANDS},
    {SSD, GRAY, {0, 22}, {}, {0, 3400}, &FUSED},
    {SSD, ANY, {0, 9}, {}, {}, &FUSED},
    {SSD, ANY, {26}, {0, 7000}, {0, 35}, &SLICES},
    {SSD, ANY, {72}, {0, 900000}, {0, 2}, &TRANSFORMS},
    {SSD, ANY, {9}, {150000}, {}, &BANDS},
    {SSD, ANY, {0, 72}, {0, 450}, {0, 680}, &FUSED},
    {SSD, ANY, {}, {0, 2500}, {0, 7}, &SLICES},
    {SSD, ANY, {60}, {0, 450}, {}, &SLICES},
    {SSD, ANY, {}, {}, {}, &FUSED_BANDS},
    {SSD, ANY, {44}, {}, {}, &BANDS},
    {ZNCC, ANY, {88}, {3400}, {0, 2}, &TRANSFORMS},
    {ZNCC, ANY, {0, 144}, {3400, 150000}, {20}, &BANDS},
    {ZNCC, ANY, {88}, {28000}, {}, &TRANSFORMS},
    {ZNCC, ANY, {}, {150000}, {}, &BANDS},
    {ZNCC, ANY, {30}, {1400}, {7, 70}, &BANDS},
    {ZNCC, COLOR, {15, 60}, {3400}, {}, &BANDS},
    {ZNCC, ANY, {26}, {0, 7000}, {0, 35}, &SLICES},
    {ZNCC, ANY, {12}, {450}, {}, &FUSED_BANDS},
    {ZNCC, ANY, {0, 72}, {}, {0, 680}, &FUSED},
    {ZNCC, ANY, {0, 60}, {}, {}, &FUSED_BANDS},
    {ZNCC, ANY, {}, {0, 450}, {}, &SLICES},
    {ZNCC, ANY, {22}, {}, {}, &BANDS},
    {WEIGHTED, ANY, {18}, {230, 1400}, {0, 35}, &SLICES},
    {WEIGHTED, ANY, {12}, {300000}, {2}, &BANDS},
    {WEIGHTED, ANY, {}, {1100000}, {}, &BANDS},
    {WEIGHTED, ANY, {0, 119}, {}, {200}, &FUSED_BANDS},
    {WEIGHTED, ANY, {22}, {}, {0, 7}, &SLICES},
    {WEIGHTED, ANY, {12}, {13000}, {35}, &BANDS},
    {WEIGHTED, ANY, {}, {850}, {}, &FUSED_BANDS},
    {WEIGHTED, COLOR, {22}, {3400}, {}, &BANDS},
    {WEIGHTED, ANY, {0, 36}, {}, {}, &FUSED},
    {WEIGHTED, ANY, {44}, {1400}, {}, &BANDS},
    {WEIGHTED, ANY, {12}, {0, 7000}, {7}, &SLICES},
    {WEIGHTED, ANY, {44}, {}, {}, &BANDS},
    {ALL, ANY, {}, {}, {}, &TILES},
    {ALL, ANY, {}, {}, {}, &FUSED_DEEP_BANDS},
    {ALL, ANY, {}, {}, {}, &DEEP_BANDS},
};

Kind kindOf(const MatchCase& given)
{
    if (!isProduct(given.metric))
        return SAD;
    if (given.weighted)
        return WEIGHTED;
    return isCorrelation(given.metric) ? ZNCC : SSD;
}

} // namespace

Choice chooseRoute(const MatchCase& given, const Load& load)
{
    const double side = std::sqrt(static_cast<double>(load.fragment.width) * load.fragment.height);
    const double positions = static_cast<double>(load.window.width) * load.window.height;
    const double fragments = load.count * 132. / given.multiprocessors;
    const Kind kind = kindOf(given);
    const Type type = given.frame.channels == 1 ? GRAY : COLOR;
    for (const Threshold& row : THRESHOLDS)
    {
        if ((row.kind != ALL && row.kind != kind) || (row.type != ANY && row.type != type) || !row.side.has(side) ||
            !row.positions.has(positions) || !row.fragments.has(fragments))
            continue;
        std::unique_ptr<Plan> plan = planOf(*row.route, given, load);
        if (plan)
            return {row.route, std::move(plan)};
    }
    CV_Error(Error::StsInternal, "FragmentMatcher: no route applies");
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
