// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Cascades in plain XML are read without FileStorage: with the same values, and the same messages.
#include "../test_precomp.hpp"
#include "generate.hpp"
#include "../../src/cascade/model.hpp"
#include "../../src/common/file_text.hpp"
#include "../../src/common/plain_xml.hpp"

namespace opencv_test { namespace {

namespace cascade = cv::cuda::cascade;
namespace detail = cv::cuda::detail;

template <typename T> bool sameBytes(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool sameModels(const cascade::Model& a, const cascade::Model& b)
{
    const auto sameHaar = [](const cascade::HaarFeature& one, const cascade::HaarFeature& other)
    {
        return std::memcmp(one.rectangle, other.rectangle, sizeof(one.rectangle)) == 0 &&
               std::memcmp(one.weight, other.weight, sizeof(one.weight)) == 0 && one.tilted == other.tilted &&
               one.rectangles == other.rectangles;
    };
    return a.kind == b.kind && a.width == b.width && a.height == b.height && sameBytes(a.trees, b.trees) &&
           sameBytes(a.nodes, b.nodes) && sameBytes(a.leaves, b.leaves) &&
           sameBytes(a.fileThresholds, b.fileThresholds) && sameBytes(a.subsets, b.subsets) &&
           sameBytes(a.lbp, b.lbp) && std::equal(a.haar.begin(), a.haar.end(), b.haar.begin(), b.haar.end(), sameHaar);
}

//! A model, or the message of the exception that there was instead.
struct Outcome
{
    cascade::ModelPtr model;
    std::string message;
};

template <class Read> Outcome outcomeOf(const Read& read)
{
    try
    {
        return {read(), ""};
    }
    catch (const cv::Exception& e)
    {
        return {nullptr, e.err};
    }
}

//! Reads a text in both ways. @return whether it is plain.
bool expectSame(const std::string& text)
{
    detail::PlainXml plain;
    if (!plain.read(text))
        return false;
    const Outcome ours = outcomeOf([&] { return cascade::readModel(plain.first(), "file"); });
    const Outcome expected = outcomeOf(
        [&]
        {
            const FileStorage storage = detail::parseText(text.data(), text.size(), "file", {"a cascade", 1u << 23});
            return cascade::readModel(storage.getFirstTopLevelNode(), "file");
        });
    EXPECT_EQ(expected.message, ours.message) << text;
    if (ours.model && expected.model)
    {
        EXPECT_TRUE(sameModels(*expected.model, *ours.model)) << text.substr(0, 3000);
    }
    return true;
}

TEST(Cascade_PlainXml, shippedCascades)
{
    for (const std::string& name : shippedCascades())
        EXPECT_TRUE(expectSame(contentOf(requireCascade(name)))) << name;
}

//! Parts of texts that are read in several ways, or refused.
// clang-format off
const char* const PARTS[] = {
    "010", "0x1", "1e2", "1E2", "1.e+1", "+3", "-.5", ".5", "-", "1.", "2147483648", "-2147483648", "1e400", "1e-400", "nan",
    ".Inf", "a b", "\"a\"", "&lt;", "<!-- c -->", "<!--->", "<_>", "</_>", "<a>", "</a>", "<a/>", " type_id=\"opencv-x\"",
    " type_id=\"str\"", " ", "\t", "\n", "\r\n", "\r", "_", "<width>24</width>", "00", "-0", "1.5.5", "1e", "9999999999",
    "0.1234567890123456789", "\x7f", "\xc3\xa4"};
// clang-format on

//! Texts of cascades with some bytes changed, left out, doubled, or replaced by parts.
TEST(Cascade_PlainXml, changedTexts)
{
    RNG rng(0x510E527F);
    int plain = 0, models = 0;
    for (int round = 0; round < 12; ++round)
    {
        const Mat image = randomImage(20261127 + round, Size(97, 83), CV_8UC1, 5);
        const OracleCascade cascade = CascadeGenerator(round, image).make();
        const std::string text = cascadeText(cascade, ".xml", cascade.haar && round % 2 == 0);
        models += expectSame(text);
        for (int k = 0; k < 1500 && !testing::Test::HasFailure(); ++k)
        {
            std::string changed = text;
            for (int changes = 1 + static_cast<int>(rng(3)); changes > 0; --changes)
            {
                // Numbers and tags begin behind these bytes.
                size_t at = changed.find_first_of(" >\n<", rng(static_cast<unsigned>(changed.size())));
                at = at == std::string::npos ? 0 : at + rng(2);
                const std::string part = PARTS[rng(sizeof(PARTS) / sizeof(PARTS[0]))];
                const size_t length = rng(3) ? changed.find_first_of(" <>\n", at) - at : rng(4);
                switch (rng(4))
                {
                case 0:
                    changed.insert(at, part);
                    break;
                case 1:
                    changed.erase(at, length);
                    break;
                default:
                    changed.replace(at, length, part);
                }
            }
            plain += expectSame(changed);
        }
    }
    EXPECT_EQ(12, models);
    EXPECT_GT(plain, 2000); // otherwise nothing was compared
}

}} // namespace opencv_test
