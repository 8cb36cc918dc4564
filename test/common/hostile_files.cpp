// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Files of cascades and of learned objects that OpenCV's FileStorage does not survive: it hangs, overflows its stack or
// takes all memory. Each is refused, in a thread with a stack of 512 KiB, by all that reads files.
//
//   CUDATRACKING_HOSTILE_CASES   random files of each kind (default 10000)
#include "child_process.hpp"
#include "../cascade/generate.hpp"
#include "mutated_text.hpp"
#include "../tld/scenes.hpp"
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;
using cuda::MultiTrackerTLD;
using cuda::TrackerTLD;

const ChildLimits LIMITS = {20, static_cast<size_t>(512) << 20, 512 << 10};

int casesOf()
{
    const char* const cases = std::getenv("CUDATRACKING_HOSTILE_CASES");
    return cases ? std::max(std::atoi(cases), 1) : 10000;
}

//! The least that a file can begin and end with; what hostile files have stands between.
const std::string BEGIN = "<?xml version=\"1.0\"?>\n<opencv_storage>\n<cascade>\n",
                  END = "</cascade></opencv_storage>\n";

class Readers
{
public:
    Readers() : file_(fileInMemory()), written_(cv::tempfile(".xml")), cascade_(CascadeClassifierEx::create())
    {
        RNG rng(3);
        image_ = randomImage(rng, Size(64, 64), CV_8UC1, 3);
    }
    ~Readers()
    {
        std::remove(file_.c_str());
        std::remove(written_.c_str());
    }

    //! @return how many took it.
    int all(const std::string& text) { return cascades(text) + objects(text); }
    int cascades(const std::string& text)
    {
        write(text);
        return buffer(text) + take([&] { cascade_->load(file_); }) + take([&] { CascadeClassifierEx::create(file_); }) +
               take([&] { CascadeClassifierEx::convert(file_, written_); });
    }
    int buffer(const std::string& text)
    {
        return take(
            [&]
            {
                cascade_->loadBuffer(asRow(text));
                std::vector<Rect> boxes;
                cascade_->detectMultiScale(image_(Rect(0, 0, 32, 32)), boxes);
            });
    }
    int objects(const std::string& text)
    {
        write(text);
        return tracker(text) + take([&] { MultiTrackerTLD::create()->addFromFile(image_, file_); });
    }
    int tracker(const std::string& text)
    {
        write(text);
        return take([&] { TrackerTLD::create()->load(file_); });
    }

private:
    //! Thousands of files on a disk take minutes.
    static std::string fileInMemory()
    {
#ifdef __linux__
        return "/proc/self/fd/" + std::to_string(memfd_create("hostile", 0));
#else
        return cv::tempfile(".xml");
#endif
    }

    template <typename Work> static int take(const Work& work)
    {
        try
        {
            work();
            return 1;
        }
        catch (const cv::Exception& e)
        {
            EXPECT_FALSE(e.err.empty());
            return 0;
        }
    }
    void write(const std::string& text) const
    {
        std::ofstream out(file_, std::ios::binary);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
    }

    std::string file_, written_;
    Ptr<CascadeClassifierEx> cascade_;
    Mat image_;
};

std::string repeated(const std::string& part, int count)
{
    std::string text;
    for (int i = 0; i < count; ++i)
        text += part;
    return text;
}

std::vector<std::string> cascadeTexts()
{
    const Mat image = randomImage(1, Size(64, 64), CV_8UC1, 3);
    std::vector<std::string> texts;
    for (uint64 seed = 0; seed < 6; ++seed)
    {
        const OracleCascade cascade = CascadeGenerator(seed, image).make();
        texts.push_back(cascadeText(cascade, ".xml", cascade.haar && seed % 2));
    }
    return texts;
}

std::string objectText()
{
    const tld::StandardScene scene(CV_8UC1, Size(24, 24));
    const cuda::TLDParams p = tld::paramsOf("trees 2, features 3, maxPositives 4, maxNegatives 4");
    const Ptr<TrackerTLD> tracker = tld::trackerOn(scene, tld::Engine::CPU, p);
    tld::follow(*tracker, scene, tld::Engine::CPU, 1, 3);
    return tld::textOf(*tracker, ".xml", FileStorage::BASE64);
}

std::string replaced(std::string text, const std::string& what, const std::string& with)
{
    const size_t at = text.find(what);
    EXPECT_NE(std::string::npos, at) << what;
    return text.replace(at, what.size(), with);
}

//! Reads files that must all be refused.
void expectRefused(const std::vector<std::pair<std::string, std::string>>& files)
{
    inChild(LIMITS,
            [&]
            {
                Readers readers;
                for (const auto& file : files)
                {
                    aboutTo(file.first);
                    EXPECT_EQ(0, readers.all(file.second)) << file.first;
                }
            });
}

//! FileStorage never returns from base64 whose header is blank, and takes all of a line for base64.
TEST(Common_HostileFiles, binaryData)
{
    const std::string spaces = "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg", bytes = "MXUgICAgICAgICAgICAgICAgICAgICAg";
    const std::string good = cascadeTexts()[0];
    expectRefused({{"blank", BEGIN + "<a type_id=\"binary\">\"$base64$QUFB\"</a>" + END},
                   {"other quotes", BEGIN + "<a  b='' type_id = \n'binary'>" + spaces + "</a>" + END},
                   {"only a header", BEGIN + "<a type_id=\"binary\">\n" + bytes + "\n</a>" + END},
                   {"no end of the line", BEGIN + "<a type_id=\"binary\">\n" + bytes + "AAAA</a>" + END},
                   {"a space for the end of the line", BEGIN + "<a type_id=\"binary\">\n" + bytes + "AAAA </a>" + END},
                   {"tags within", BEGIN + "<a type_id=\"binary\">\n" + bytes + "\n" + repeated("<a>\n", 40000) + END},
                   {"in a cascade", replaced(good, "<leafValues>", "<leafValues type_id=\"binary\">" + spaces)},
                   {"in an object", replaced(objectText(), "<features>", "<features type_id=\"binary\">" + spaces)},
                   {"another header in an object", replaced(objectText(), bytes, spaces.substr(0, 32))}});
}

//! FileStorage's stack does not hold nests of this depth, and texts that hide them from a count of tags must not get
//! through.
TEST(Common_HostileFiles, deepNests)
{
    const int depth = 40000;
    const std::string tags = repeated("<a>", depth);
    expectRefused({{"tags", BEGIN + tags},
                   {"behind a byte-order mark", "\xef\xbb\xbf" + BEGIN + tags},
                   {"a closing tag in an attribute", BEGIN + repeated("<a b=\"/>\">", depth)},
                   {"a closing tag in a comment", BEGIN + repeated("<a><!--</a>-->", depth)},
                   {"a closing tag in CDATA", BEGIN + repeated("<a><![CDATA[</a>]]>", depth)},
                   {"in quotes", BEGIN + "\"" + tags}});
}

//! Further texts that FileStorage waits on, misreads, or takes much memory or time for.
TEST(Common_HostileFiles, others)
{
    std::string names = BEGIN + "<!-- \" -->";
    for (int i = 0; names.size() < (7u << 20); ++i)
        names += "<n" + std::to_string(i) + ">1</n" + std::to_string(i) + ">";
    expectRefused({{"a string that is not there",
                    BEGIN + "<a>\"" + std::string(4000, 'x') + "\" 5</a><b type_id=\"str\"></b>" + END},
                   {"a carriage return that hides the rest of the line", BEGIN + "<!-- \r <a>" + END},
                   {"a zero", BEGIN + std::string(1, '\0') + END},
                   {"400,000 names behind a quote in a comment", names + END},
                   // Read as the name of a file with parameters.
                   {"one line with a question mark", "{\"a\":\"?" + repeated("&b", 3 << 20) + "\"}"},
                   {"one line of 36 MiB", "{\"a\":\"?" + repeated("&b", 18 << 20) + "\"}"}});
}

// --- random files ----------------------------------------------------------------------------------------------------

//! Openings of all kinds, and now and then what could hide them.
std::string randomNest(RNG& rng, int depth)
{
    static const char* const parts[] = {"<a>",
                                        "<_>",
                                        "<a b=\"/>\">",
                                        "<a b='</a>'>",
                                        "<!-- \" --><a>",
                                        "5 <a>",
                                        "\n<b>",
                                        "<!-- <a> --><a>",
                                        "<a\nc = \"<!--\">",
                                        "<!--></a>--><a>",
                                        "\"<a>",
                                        "</a><a>",
                                        "<![CDATA[</a>]]>",
                                        "<a/>",
                                        "<!DOCTYPE a>"};
    const int count = static_cast<int>(std::size(parts));
    const int usual = rng.uniform(0, count), other = rng.uniform(0, count), rarely = rng.uniform(2, 500);
    std::string text = (rng.uniform(0, 8) == 0 ? "\xef\xbb\xbf" : "") + BEGIN;
    for (int i = 0; i < depth; ++i)
        text += parts[rng.uniform(0, rarely) == 0 ? rng.uniform(0, count) : rng.uniform(0, 3) == 0 ? other : usual];
    return text;
}

TEST(Common_HostileFiles, randomNests)
{
    inChild(LIMITS,
            []
            {
                Readers readers;
                RNG rng(theRNG().state);
                for (int i = 0; i < casesOf() / 10; ++i)
                {
                    const uint64 seed = rng.state;
                    const std::string text = randomNest(rng, rng.uniform(1000, 8000));
                    aboutTo(cv::format("nest %d, state %llu: %s", i, static_cast<unsigned long long>(seed),
                                       text.substr(40, 80).c_str()));
                    EXPECT_EQ(0, readers.buffer(text) + (i % 10 == 0 ? readers.all(text) : 0));
                }
            });
}

//! Mutations of files that can be read: some can still be read, none does harm.
void readMutations(const std::vector<std::string>& texts, const std::function<int(Readers&, const std::string&)>& read)
{
    ChildLimits limits = LIMITS;
    limits.seconds += casesOf() / 100; // a text of an object takes two milliseconds
    inChild(limits,
            [&]
            {
                Readers readers;
                RNG rng(theRNG().state);
                for (const std::string& text : texts)
                    EXPECT_EQ(1, read(readers, text));
                int taken = 0;
                for (int i = 0; i < casesOf(); ++i)
                {
                    aboutTo(cv::format("mutation %d, state %llu", i, static_cast<unsigned long long>(rng.state)));
                    taken += read(readers, mutatedText(texts[i % texts.size()], rng, 2500, 3));
                }
                std::cout << taken << " of " << casesOf() << " taken" << std::endl;
                EXPECT_GT(taken, 0);
                EXPECT_LT(taken, casesOf());
            });
}

TEST(Common_HostileFiles, mutatedCascades)
{
    readMutations(cascadeTexts(), [](Readers& readers, const std::string& text) { return readers.buffer(text); });
}

TEST(Common_HostileFiles, mutatedObjects)
{
    readMutations({objectText()}, [](Readers& readers, const std::string& text) { return readers.tracker(text); });
}

}} // namespace opencv_test
