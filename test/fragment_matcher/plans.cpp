// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Millions of plans of FragmentMatcher, for devices with all limits. Needs no GPU.
#include "plans.hpp"
#ifdef CUDATRACKING_HAS_PLANS
#include "../../src/cuda/fragment_matcher/free_slots.hpp"
#include <chrono>
#endif

namespace opencv_test { namespace {

using namespace plans;
typedef cv::cuda::FragmentMatcher FM;

#ifdef CUDATRACKING_HAS_PLANS

//! Returns true for fragments that are refused.
bool isTooLarge(const fm::MatchCase& given, Extent fragment)
{
    return (given.frame.deep() && given.metric == fm::Metric::SAD) ||
           static_cast<int64_t>(fragment.width) * fragment.height * given.frame.channels > 16843523;
}

//! Returns what a route plans, whether it is the quickest or not.
fm::Choice planOf(const std::string& name, const fm::MatchCase& given, const fm::Load& load)
{
    for (size_t r = 0; r < fm::ROUTE_COUNT; ++r)
        if (name == fm::ROUTES[r]->name)
            return {fm::ROUTES[r], fm::planOf(*fm::ROUTES[r], given, load)};
    return {nullptr, nullptr};
}

const char* wrongWith(const MatchCall& call) { return plans::wrongWith(partsOf(call), call); }

//! Two or more sizes in one call, each in windows of its own: what one needs must stay right when the next makes blocks
//! larger.
TEST(FragmentMatcher_Plans, severalSizes)
{
    struct Group
    {
        Extent fragment, window;
    };
    const struct
    {
        int channels;
        bool weighted;
        Group first, second;
    } known[] = {
        {1, false, {{10, 17}, {40, 48}}, {{22, 23}, {41, 33}}}, {1, true, {{12, 20}, {40, 48}}, {{12, 21}, {41, 33}}},
        {3, true, {{11, 12}, {40, 48}}, {{17, 12}, {41, 33}}},  {1, true, {{8, 9}, {32, 41}}, {{11, 15}, {41, 28}}},
        {3, false, {{3, 3}, {49, 48}}, {{3, 4}, {48, 48}}},     {3, true, {{3, 3}, {49, 48}}, {{5, 3}, {30, 40}}}};
    for (const auto& k : known)
        for (const bool swapped : {false, true})
            for (const size_t bytes : SHARED_BYTES)
            {
                MatchCall call(Size(900, 700), k.channels, FM::ZNCC, k.weighted, bytes, 132);
                for (int i = 0; i < 1000; ++i)
                {
                    const Group& group = (i % 2 == 0) != swapped ? k.first : k.second;
                    call.add(group.fragment, group.window);
                }
                EXPECT_TRUE(routesOf(call).count(k.weighted ? "FUSED_BANDS ZNCC weighted" : "FUSED_BANDS ZNCC"))
                    << call.describe();
                const char* const wrong = wrongWith(call);
                EXPECT_FALSE(wrong) << wrong << "\n" << call.describe();
            }
}

//! The order in which sizes are planned changes neither their routes nor the memory of a block.
TEST(FragmentMatcher_Plans, orderOfSizes)
{
    RNG rng(0x51ED270B);
    int fused = 0;
    for (int n = 0; n < 20000 && !testing::Test::HasFailure(); ++n)
    {
        const int channels = rng.uniform(0, 2) ? 3 : 1, metric = rng.uniform(1, 3);
        MatchCall call(Size(2000, 2000), channels, metric, rng.uniform(0, 2) != 0, SHARED_BYTES[n % 4], 132);
        for (int size = rng.uniform(2, 5); size > 0; --size)
        {
            const Extent fragment = {rng.uniform(8, 40), rng.uniform(8, 26)};
            const Extent window = {rng.uniform(20, 53), rng.uniform(20, 61)};
            for (int i = 0; i < 100; ++i)
                call.add(fragment, window);
        }
        const fm::FragmentSizes sizes = call.sizes();
        fm::Load load = fm::chooseRoutes(call.given, sizes, call.searchAreas())[0].load;
        if (load.count < static_cast<int>(call.fragments.size()))
            continue; // whether a size fits together with others depends on the order
        const auto bytes = fm::planFused(call.given, load);
        const auto bands = fm::planFusedBands(call.given, load);
        std::reverse(load.groups.begin(), load.groups.end());
        const auto bytesReversed = fm::planFused(call.given, load);
        const auto bandsReversed = fm::planFusedBands(call.given, load);
        if (!bytes || !bytesReversed)
            continue;
        ++fused;
        EXPECT_EQ(bands.has_value(), bandsReversed.has_value()) << call.describe();
        if (bands && bandsReversed)
        {
            EXPECT_EQ(bands->warps, bandsReversed->warps) << call.describe();
            EXPECT_EQ(bands->sharedBytes, bandsReversed->sharedBytes) << call.describe();
        }
        EXPECT_EQ(bytes->sharedBytes, bytesReversed->sharedBytes) << call.describe();
    }
    EXPECT_GT(fused, 5000);
}

//! One to five sizes in windows that fit a block, or do not.
TEST(FragmentMatcher_Plans, smallWindows)
{
    RNG rng(0x2545F491);
    Enumeration all;
    Counts routes;
    for (int n = 0; n < 400000 && !all.failedOften(); ++n)
    {
        const int channels = rng.uniform(0, 2) ? 3 : 1, metric = rng.uniform(0, 6) == 0 ? 0 : rng.uniform(1, 3);
        const int multiprocessors = MULTIPROCESSORS[rng.uniform(0, 8)];
        const bool deep = metric != FM::SAD && rng.uniform(0, 4) == 0;
        MatchCall call(Size(2000, 2000), channels, metric, rng.uniform(0, 2) != 0, SHARED_BYTES[n % 4], multiprocessors,
                       deep);
        // Unweighted SSD goes by matrix instructions when there is a lot to do: some fragments stand for many.
        const bool many = metric == FM::SSD && !call.given.weighted && rng.uniform(0, 3) == 0;
        const int sizes = rng.uniform(1, 6), least = many ? 16 : 1, most = many || rng.uniform(0, 3) ? 36 : 120;
        const bool large = !many && rng.uniform(0, 8) == 0; // windows that tiles take
        for (int i = 0; i < sizes; ++i)
        {
            const Extent fragment = {rng.uniform(least, most), rng.uniform(least, most)};
            const Extent window = large ? Extent{rng.uniform(1, 400), rng.uniform(1, 400)}
                                        : Extent{rng.uniform(least, 56), rng.uniform(least, 64)};
            call.add(fragment, window, uniform(rng, Point(), Point(5, 5)));
        }
        for (int i = 0; many && i < 400; ++i)
        {
            call.fragments.push_back(call.fragments[i % sizes]);
            call.areas.push_back(call.areas[i % sizes]);
        }
        for (const std::string& route : routesOf(call))
            ++routes[route];
        all.add(wrongWith(call), [&] { return call.describe(); });
    }
    expectMoreThan(4000, routes,
                   {"FUSED", "TILES", "FUSED_BANDS SSD", "FUSED_BANDS SSD weighted", "FUSED_BANDS ZNCC",
                    "FUSED_BANDS ZNCC weighted"});
    expectMoreThan(300, routes,
                   {"FUSED_DEEP_BANDS SSD", "FUSED_DEEP_BANDS SSD weighted", "FUSED_DEEP_BANDS ZNCC",
                    "FUSED_DEEP_BANDS ZNCC weighted"});
}

//! Elimination needs work, large fragments, and windows with room for the places of a limit.
TEST(FragmentMatcher_Plans, elimination)
{
    const auto eliminates = [](int channels, Extent fragment, Extent window, int count)
    {
        MatchCall call(Size(1920, 1080), channels, FM::SAD, false, SHARED_BYTES[3], 132);
        call.given.fullSearch = true;
        for (int i = 0; i < count; ++i)
            call.add(fragment, window);
        return routesOf(call).count("BOUNDED_TILES") > 0;
    };
    EXPECT_TRUE(eliminates(3, {64, 64}, {1857, 1017}, 1));
    EXPECT_TRUE(eliminates(3, {128, 128}, {512, 128}, 2));  // 64 tiles
    EXPECT_FALSE(eliminates(3, {128, 128}, {511, 127}, 1)); // little work
    EXPECT_FALSE(eliminates(3, {128, 128}, {448, 128}, 9)); // 56 tiles
    EXPECT_FALSE(eliminates(3, {63, 190}, {1857, 800}, 1));
}

//! Every fragment up to 300 x 520 in frames, for all devices: what tiles and the three kernels get.
TEST(FragmentMatcher_Plans, wholeFrames)
{
    Enumeration all;
    Counts routes;
    RNG rng(0x9E3779B9);
    for (const size_t bytes : SHARED_BYTES)
        for (const int metric : {FM::SAD, FM::SSD, FM::ZNCC})
            for (const bool weighted : {false, true})
                for (int width = 1; width <= 300; ++width)
                    for (int height = 1; height <= 520; height += metric == FM::SAD ? 7 : 1)
                    {
                        const int channels = rng.uniform(0, 3) ? 1 : 3,
                                  count = rng.uniform(0, 4) ? 1 : rng.uniform(2, 300);
                        const Size frame = rng.uniform(0, 2) ? Size(1920, 1080) : Size(640, 540);
                        const bool deep = metric != FM::SAD && rng.uniform(0, 20) == 0;
                        const MatchCall call(frame, channels, metric, weighted, bytes,
                                             MULTIPROCESSORS[rng.uniform(0, 8)], deep);
                        if (isTooLarge(call.given, {width, height}))
                            continue;
                        const Extent window = {frame.width - width + 1, frame.height - height + 1};
                        const fm::Load load = loadOf(window, {width, height}, count, {0, 0, frame.width, frame.height});
                        for (size_t r = 0; r < fm::ROUTE_COUNT; ++r)
                        {
                            const fm::Choice choice = {fm::ROUTES[r], fm::planOf(*fm::ROUTES[r], call.given, load)};
                            if (!choice.plan)
                                continue;
                            ++routes[nameOf(*choice.route, call.given)];
                            all.add(plans::wrongWith(choice, call.given, load),
                                    [&] {
                                        return call.describe() +
                                               cv::format(", %d fragments of %d x %d", count, width, height);
                                    });
                        }
                        if (all.failedOften())
                            return;
                    }
    EXPECT_GT(all.plans(), 2000000);
    expectMoreThan(1000, routes,
                   {"TILES", "BOUNDED_TILES", "BANDS SSD", "BANDS SSD weighted", "BANDS ZNCC", "BANDS ZNCC weighted",
                    "DEEP_BANDS"});
}

//! Transforms of all fragments in all areas that they can match, also where other routes are quicker.
TEST(FragmentMatcher_Plans, transforms)
{
    RNG rng(0x6A09E667);
    Enumeration all;
    int refused = 0;
    for (int n = 0; n < 200000 && !all.failedOften(); ++n)
    {
        const Size frame = uniform(rng, Size(1, 1), Size(4500, 2400));
        const int multiprocessors = MULTIPROCESSORS[rng.uniform(0, 8)];
        const bool weighted = rng.uniform(0, 8) == 0;
        const int metric = rng.uniform(0, 3), channels = rng.uniform(0, 2) ? 3 : 1;
        const MatchCall call(frame, channels, metric, weighted, SHARED_BYTES[n % 4], multiprocessors);
        const Extent fragment = {rng.uniform(1, frame.width + 1), rng.uniform(1, std::min(frame.height + 1, 400))};
        if (isTooLarge(call.given, fragment))
            continue;
        const int narrowest = rng.uniform(0, 3) ? fragment.width : rng.uniform(1, fragment.width + 1);
        const Rect4 region = {0, 0, rng.uniform(fragment.width, frame.width + 1),
                              rng.uniform(fragment.height, frame.height + 1)};
        const Extent window = {rng.uniform(0, 2) ? region.width - narrowest + 1
                                                 : rng.uniform(1, region.width - narrowest + 2),
                               region.height - fragment.height + 1};
        const int count = rng.uniform(0, 3) == 0 ? rng.uniform(1, 5000) : 1;
        const fm::Load load = loadOf(window, fragment, count, region, narrowest);
        const fm::Choice choice = planOf("TRANSFORMS", call.given, load);
        if (!choice.plan)
        {
            ++refused;
            continue;
        }
        const char* wrong = plans::wrongWith(choice, call.given, load);
        if (!wrong && 2 * fm::planTransforms(call.given, load)->transforms.half < region.width - narrowest + 1)
            wrong = "the last position of the narrowest fragment is in the second half";
        all.add(wrong,
                [&]
                {
                    return call.describe() + cv::format(", %d fragments of %d x %d, the narrowest %d, in %d x %d",
                                                        count, fragment.width, fragment.height, narrowest, region.width,
                                                        region.height);
                });
    }
    EXPECT_GT(all.plans(), 20000);
    EXPECT_GT(refused, 20000);
}

//! Slices of all fragments in all windows that they can match, also where other routes are quicker.
TEST(FragmentMatcher_Plans, slices)
{
    RNG rng(0x3C6EF372);
    Enumeration all;
    for (int n = 0; n < 300000 && !all.failedOften(); ++n)
    {
        const int multiprocessors = MULTIPROCESSORS[rng.uniform(0, 8)];
        const bool weighted = rng.uniform(0, 2) != 0;
        const int metric = rng.uniform(0, 3), channels = rng.uniform(0, 2) ? 3 : 1;
        const MatchCall call(Size(2000, 2000), channels, metric, weighted, SHARED_BYTES[n % 4], multiprocessors);
        const int most = rng.uniform(0, 8) == 0 ? 1100 : 200;
        const Extent fragment = {rng.uniform(1, most), rng.uniform(1, most)};
        if (isTooLarge(call.given, fragment))
            continue;
        const Extent window = {rng.uniform(1, 140), rng.uniform(1, rng.uniform(0, 4) == 0 ? 1000 : 140)};
        const int count = rng.uniform(0, 3) == 0 ? rng.uniform(1, 5000) : rng.uniform(1, 12);
        const fm::Load load = loadOf(window, fragment, count, {0, 0, 2000, 2000});
        const fm::Choice choice = planOf("SLICES", call.given, load);
        if (!choice.plan)
            continue;
        all.add(plans::wrongWith(choice, call.given, load),
                [&]
                {
                    return call.describe() + cv::format(", %d fragments of %d x %d in windows of %d x %d", count,
                                                        fragment.width, fragment.height, window.width, window.height);
                });
    }
    EXPECT_GT(all.plans(), 150000);
}

//! Cases with published times take the routes that those times are of.
TEST(FragmentMatcher_Plans, publishedCases)
{
    const struct
    {
        Size frame;
        int side, channels, count, window, metric; //!< window: its side in positions; 0: the whole frame
        bool weighted;
        const char* route;
    } cases[] = {{{1920, 1080}, 16, 3, 1000, 33, FM::SAD, false, "FUSED"}, // A
                 {{1920, 1080}, 16, 3, 1000, 33, FM::SAD, true, "FUSED"},
                 {{1920, 1080}, 16, 3, 1000, 33, FM::SSD, false, "FUSED_BANDS SSD"},
                 {{1920, 1080}, 16, 3, 1000, 33, FM::ZNCC, false, "FUSED_BANDS ZNCC"},
                 {{1920, 1080}, 16, 3, 1000, 33, FM::ZNCC, true, "FUSED_BANDS ZNCC weighted"},
                 {{768, 576}, 52, 1, 1, 0, FM::SAD, false, "TILES"}, // B
                 {{768, 576}, 52, 1, 1, 0, FM::SSD, false, "BANDS SSD"},
                 {{768, 576}, 52, 1, 1, 0, FM::ZNCC, false, "BANDS ZNCC"},
                 {{768, 576}, 52, 3, 1, 0, FM::SAD, false, "TILES"}, // B'
                 {{768, 576}, 52, 3, 1, 0, FM::ZNCC, false, "BANDS ZNCC"},
                 {{1920, 1080}, 64, 3, 1, 0, FM::SSD, false, "BANDS SSD"}, // C
                 {{1920, 1080}, 64, 3, 1, 0, FM::ZNCC, false, "BANDS ZNCC"},
                 {{1920, 1080}, 64, 3, 360, 0, FM::ZNCC, false, "BANDS ZNCC"},
                 {{1920, 1080}, 8, 3, 1, 0, FM::SSD, false, "TILES"}, // plots
                 {{1920, 1080}, 16, 3, 1, 0, FM::SSD, false, "BANDS SSD"},
                 {{1920, 1080}, 80, 3, 1, 0, FM::SSD, false, "BANDS SSD"},
                 {{1920, 1080}, 96, 3, 1, 0, FM::SSD, false, "TRANSFORMS SSD"},
                 {{1920, 1080}, 232, 3, 1, 0, FM::ZNCC, false, "TRANSFORMS ZNCC"},
                 {{1920, 1080}, 128, 3, 1, 9, FM::SAD, false, "SLICES"}, // few or large ones in small areas
                 {{1920, 1080}, 64, 1, 1, 49, FM::ZNCC, false, "SLICES"},
                 {{1920, 1080}, 128, 3, 1000, 17, FM::SSD, false, "SLICES"},
                 {{1920, 1080}, 128, 3, 1000, 33, FM::SSD, false, "BANDS SSD"},
                 {{1920, 1080}, 64, 3, 100, 33, FM::ZNCC, false, "FUSED_BANDS ZNCC"},
                 {{2304, 1720}, 32, 1, 3816, 51, FM::ZNCC, false, "FUSED_BANDS ZNCC"}, // grids of windows
                 {{1024, 1024}, 16, 1, 16129, 17, FM::ZNCC, false, "FUSED_BANDS ZNCC"}};
    for (const auto& c : cases)
    {
        MatchCall call(c.frame, c.channels, c.metric, c.weighted, SHARED_BYTES[3], 132);
        const Extent window =
            c.window > 0 ? Extent{c.window, c.window} : Extent{c.frame.width - c.side + 1, c.frame.height - c.side + 1};
        for (int i = 0; i < c.count; ++i)
            call.add({c.side, c.side}, window);
        EXPECT_EQ(Routes{c.route}, routesOf(call)) << call.describe();
    }
}

//! Sizes that once took 101,296 bytes on devices that have 101,376 for static and dynamic memory together.
TEST(FragmentMatcher_Plans, allSharedMemoryOfABlock)
{
    Enumeration all;
    int64 bands = 0;
    for (const size_t bytes : SHARED_BYTES)
        for (int multiprocessors = 14; multiprocessors <= 170; multiprocessors += 4)
            for (const int metric : {FM::SSD, FM::ZNCC})
                for (const bool weighted : {false, true})
                    for (int width = 56; width <= 75; ++width)
                        for (const int first : {96, 192, 288, 384})
                            for (int height = first; height <= first + 32; height += 3)
                            {
                                const MatchCall call(Size(1920, 1080), 1, metric, weighted, bytes, multiprocessors);
                                const Extent window = {1920 - width + 1, 1080 - height + 1};
                                const fm::Load load = loadOf(window, {width, height}, 1, {0, 0, 1920, 1080});
                                const fm::Choice choice = fm::chooseRoute(call.given, load);
                                const std::string route = choice.route->name;
                                bands += route == "BANDS";
                                all.add(plans::wrongWith(choice, call.given, load),
                                        [&] { return call.describe() + cv::format(", %d x %d", width, height); });
                                if (all.failedOften())
                                    return;
                            }
    EXPECT_GT(bands, all.plans() / 2);
}

//! Fragments of all sides around those at which sums fill 16, 24, 31 and 32 bits: by no route does a sum exceed its
//! bits.
TEST(FragmentMatcher_Plans, sums)
{
    const std::vector<int> sides = {1,    2,    3,    8,    16,    17,    48,    64,    148,   149,   232,   255,  256,
                                    257,  258,  259,  384,  385,   1023,  1024,  1025,  2064,  2065,  2160,  2161, 2752,
                                    2753, 4096, 5474, 8258, 16448, 16449, 22016, 22017, 22018, 26912, 32766, 32767};
    const Extent windows[] = {{1, 1}, {29, 20}, {300, 83}, {1900, 1}, {1500, 900}};
    Counts routes;
    Enumeration all;
    for (const int width : sides)
        for (const int height : sides)
            for (const Extent& window : windows)
                for (int kind = 0; kind < 48; ++kind)
                {
                    const int metric = kind % 3, channels = kind / 3 % 2 ? 3 : 1;
                    const Size frame(window.width + width - 1, window.height + height - 1);
                    MatchCall call(frame, channels, metric, kind / 6 % 2 != 0, SHARED_BYTES[kind / 12 % 2 ? 0 : 3], 132,
                                   kind / 24 != 0);
                    if (std::max(frame.width, frame.height) > 32767 || isTooLarge(call.given, {width, height}))
                        continue;
                    call.add({width, height}, window);
                    const fm::Load load = loadOf(window, {width, height}, 1, {0, 0, frame.width, frame.height});
                    for (size_t r = 0; r < fm::ROUTE_COUNT; ++r)
                    {
                        const std::string route = fm::ROUTES[r]->name;
                        if (!fm::planOf(*fm::ROUTES[r], call.given, load)) // whether it is the quickest or not
                            continue;
                        ++routes[nameOf(*fm::ROUTES[r], call.given)];
                        all.add(sumsBeyond(route, call.given, load, {width, height}),
                                [&] { return route + "\n" + call.describe(); });
                    }
                    if (all.failedOften())
                        return;
                }
    EXPECT_GT(all.plans(), 200000);
    expectMoreThan(100, routes, ROUTE_NAMES);
}

//! Sides and areas at their limits.
TEST(FragmentMatcher_Plans, extremes)
{
    RNG rng(0xB5297A4D);
    Enumeration all;
    const int big = std::numeric_limits<int>::max(), low = std::numeric_limits<int>::min();
    const std::vector<int> sides = {1, 2, 7, 16, 31, 64, 255, 256, 257, 1023, 1024, 1025, 4096, 16384, 32766, 32767};
    const auto side = [&] { return sides[rng.uniform(0, static_cast<int>(sides.size()))]; };
    const auto anySize = [&]
    {
        const int height = side();
        return Size(side(), height);
    };
    const auto place = [&](int size)
    { return rng.uniform(0, 6) == 0 ? (rng.uniform(0, 2) ? big : low) : rng.uniform(-size, size); };
    int refused = 0;
    for (int n = 0; n < 200000 && !all.failedOften(); ++n)
    {
        const Size frame = anySize();
        const int multiprocessors = MULTIPROCESSORS[rng.uniform(0, 8)];
        const bool weighted = rng.uniform(0, 2) != 0;
        const int metric = rng.uniform(0, 3), channels = rng.uniform(0, 2) ? 3 : 1;
        const bool deep = rng.uniform(0, 4) == 0;
        MatchCall call(frame, channels, metric, weighted, SHARED_BYTES[n % 4], multiprocessors, deep);
        call.areasOnDevice = rng.uniform(0, 4) == 0;
        call.limit = anySize();
        for (int i = rng.uniform(1, 6); i > 0; --i)
        {
            const Extent fragment = {side(), side()};
            if (isTooLarge(call.given, fragment))
                continue;
            call.fragments.push_back(fragment);
            call.areas.push_back({place(frame.width), place(frame.height), rng.uniform(0, 5) ? side() : big,
                                  rng.uniform(0, 5) ? side() : big});
        }
        if (call.fragments.empty())
            continue;
        if (rng.uniform(0, 5) == 0)
            call.areas.clear();
        Extent largest = {0, 0};
        for (const Extent& fragment : call.fragments)
            largest = {std::max(largest.width, fragment.width), std::max(largest.height, fragment.height)};
        try
        {
            all.add(wrongWith(call), [&] { return call.describe(); });
        }
        catch (const cv::Exception& e)
        {
            ++refused;
            EXPECT_EQ(Error::StsOutOfRange, e.code);
            EXPECT_TRUE((deep || metric == FM::ZNCC) && 1. * largest.width * largest.height > 100e6) << call.describe();
        }
    }
    EXPECT_GT(refused, 100);
    EXPECT_GT(all.plans(), 150000);
}

//! New fragments take the smallest free slot that holds them, of equal ones the first; like a search of all free slots.
TEST(FragmentMatcher_Plans, freeSlots)
{
    RNG rng(0x1B873593);
    int64 taken = 0, none = 0;
    for (int n = 0; n < 2000; ++n)
    {
        fm::FreeSlots slots;
        std::vector<std::pair<size_t, int>> all; // capacity, slot
        for (int slot = 0; slot < n % 40; ++slot)
        {
            all.push_back({static_cast<size_t>(rng.uniform(1, 12)), slot});
            slots.add(slot, all.back().first);
        }
        for (int k = 0; k < 45; ++k)
        {
            const size_t words = rng.uniform(1, 14);
            auto best = all.end();
            for (auto slot = all.begin(); slot != all.end(); ++slot)
                if (slot->first >= words && (best == all.end() || *slot < *best))
                    best = slot;
            ASSERT_EQ(best == all.end() ? -1 : best->second, slots.take(words));
            ++(best == all.end() ? none : taken);
            if (best != all.end())
                all.erase(best);
        }
    }
    EXPECT_GT(taken, 10000);
    EXPECT_GT(none, 10000);
}

//! The largest number of fragments, after as many were removed: the small slots, which fit none of them, come first.
TEST(FragmentMatcher_Plans, manyFreeSlots)
{
    const int count = 100000;
    const auto begin = std::chrono::steady_clock::now();
    fm::FreeSlots slots;
    for (int slot = 0; slot < 2 * count; ++slot)
        slots.add(slot, slot < count ? 10 : 20);
    for (int k = 0; k < count; ++k)
        ASSERT_EQ(count + k, slots.take(11));
    EXPECT_EQ(-1, slots.take(11));
    // 0.1 s here; a search from the front for each takes 10^10 steps.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}

#else

TEST(FragmentMatcher_Plans, severalSizes) { plans::require(); }

#endif

}} // namespace opencv_test
