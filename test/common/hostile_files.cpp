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
const char* const FORMATS[] = {".xml", ".yml", ".json"};

int casesOf()
{
    const char* const cases = std::getenv("CUDATRACKING_HOSTILE_CASES");
    return cases ? std::max(std::atoi(cases), 1) : 10000;
}

//! The least that each format can begin and end with; what hostile files have stands between.
struct Frame
{
    std::string begin, end;
};
Frame frameOf(const std::string& format)
{
    if (format == ".xml")
        return {"<?xml version=\"1.0\"?>\n<opencv_storage>\n<cascade>\n", "</cascade></opencv_storage>\n"};
    if (format == ".yml")
        return {"%YAML:1.0\n---\ncascade:\n   ", "\n"};
    return {"{\n\"cascade\": ", "\n}\n"};
}

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

std::vector<std::string> cascadeTexts(const std::string& format)
{
    const Mat image = randomImage(1, Size(64, 64), CV_8UC1, 3);
    std::vector<std::string> texts;
    for (uint64 seed = 0; seed < 6; ++seed)
    {
        const OracleCascade cascade = CascadeGenerator(seed, image).make();
        texts.push_back(cascadeText(cascade, format, cascade.haar && seed % 2));
    }
    return texts;
}

std::string objectText(const std::string& format)
{
    const tld::StandardScene scene(CV_8UC1, Size(24, 24));
    const cuda::TLDParams p = tld::paramsOf("trees 2, features 3, maxPositives 4, maxNegatives 4");
    const Ptr<TrackerTLD> tracker = tld::trackerOn(scene, tld::Engine::CPU, p);
    tld::follow(*tracker, scene, tld::Engine::CPU, 1, 3);
    return tld::textOf(*tracker, format);
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

//! FileStorage never returns from base64 whose header is blank.
TEST(Common_HostileFiles, binaryData)
{
    const std::string blank(48, 'I'), spaces = "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg";
    std::vector<std::pair<std::string, std::string>> files;
    const Frame xml = frameOf(".xml"), yaml = frameOf(".yml"), json = frameOf(".json");
    files.emplace_back("XML", xml.begin + "<a type_id=\"binary\">\"$base64$QUFB\"</a>" + xml.end);
    files.emplace_back("XML, other quotes", xml.begin + "<a  b='' type_id = \n'binary'>" + spaces + "</a>" + xml.end);
    files.emplace_back("JSON", json.begin + "\"$base64$" + spaces + "\"" + json.end);
    files.emplace_back("JSON, in a list", json.begin + "[ 1, \"$base64$" + spaces + "\" ]" + json.end);
    files.emplace_back("YAML", yaml.begin + "a: !!binary |\n     " + spaces + yaml.end);
    files.emplace_back("YAML, the tag in full",
                       yaml.begin + "a: !<tag:yaml.org,2002:binary> |\n     " + spaces + yaml.end);
    files.emplace_back("YAML, in brackets", yaml.begin + "a: [ !!binary |\n     " + spaces + " ]" + yaml.end);
    const std::string good = cascadeTexts(".xml")[0];
    files.emplace_back("XML, in a cascade",
                       replaced(good, "<leafValues>", "<leafValues type_id=\"binary\">\"$base64$" + spaces + "\""));
    files.emplace_back("XML, in an object",
                       replaced(objectText(".xml"), "<features>", "<features type_id=\"binary\">" + spaces));
    expectRefused(files);
}

//! FileStorage's stack does not hold nests of this depth, and texts that hide them from a count of brackets must not
//! get through.
TEST(Common_HostileFiles, deepNests)
{
    const int depth = 40000;
    std::vector<std::pair<std::string, std::string>> files;
    const Frame xml = frameOf(".xml"), yaml = frameOf(".yml"), json = frameOf(".json");
    const std::string bom = "\xef\xbb\xbf", tags = repeated("<a>", depth), brackets(depth, '[');
    files.emplace_back("XML", xml.begin + tags);
    files.emplace_back("XML behind a byte-order mark", bom + xml.begin + tags);
    files.emplace_back("XML, a closing tag in an attribute", xml.begin + repeated("<a b=\"/>\">", depth));
    files.emplace_back("XML, a closing tag in a comment", xml.begin + repeated("<a><!--</a>-->", depth));
    files.emplace_back("XML, a closing tag in CDATA", xml.begin + repeated("<a><![CDATA[</a>]]>", depth));
    files.emplace_back("XML, in quotes", xml.begin + "\"" + tags);
    files.emplace_back("JSON", json.begin + brackets);
    files.emplace_back("JSON behind a byte-order mark", bom + json.begin + brackets);
    files.emplace_back("JSON, a quote in a comment", json.begin + "/* \" */ " + brackets);
    files.emplace_back("JSON, a quote in a comment to the end of the line", json.begin + "// \"\n" + brackets);
    files.emplace_back("JSON, closing brackets in comments", json.begin + repeated("[/*]*/", depth));
    files.emplace_back("JSON, 3,700 brackets", "{\"cascade\": /* \" */ " + std::string(3700, '['));
    files.emplace_back("YAML, brackets", yaml.begin + "a: " + brackets);
    files.emplace_back("YAML, closing brackets in comments", yaml.begin + "a: " + repeated("[ # ]\n   ", depth));
    files.emplace_back("YAML, lists in a line", "%YAML:1.0\n---\n" + repeated("- ", depth) + "1\n");
    files.emplace_back("YAML, hyphens", "%YAML:1.0\n---\n " + std::string(depth, '-') + "\n");
    files.emplace_back("YAML, maps in a line", "%YAML:1.0\n---\n" + repeated("a:", depth) + "1\n");
    expectRefused(files);
}

//! Further texts that FileStorage waits on, misreads, or takes much memory or time for.
TEST(Common_HostileFiles, others)
{
    std::vector<std::pair<std::string, std::string>> files;
    const Frame xml = frameOf(".xml"), json = frameOf(".json");
    files.emplace_back("YAML, a list after the end of the document", "%YAML:1.0\n---\n- 1\n...\n- 1\n");
    files.emplace_back("XML, a string that is not there",
                       xml.begin + "<a>\"" + std::string(4000, 'x') + "\" 5</a><b type_id=\"str\"></b>" + xml.end);
    files.emplace_back("JSON, a name that ends with a backslash", "{\"cascade\\");
    files.emplace_back("a carriage return that hides the rest of the line",
                       json.begin + "// \"\r [[[[\n" + std::string(40000, '[') + json.end);
    files.emplace_back("a zero", json.begin + std::string(1, '\0') + json.end);
    std::string names = xml.begin + "<!-- \" -->";
    for (int i = 0; names.size() < (7u << 20); ++i)
        names += "<n" + std::to_string(i) + ">1</n" + std::to_string(i) + ">";
    files.emplace_back("400,000 names behind a quote in a comment", names + xml.end);
    // Read as the name of a file with parameters.
    files.emplace_back("one line with a question mark", "{\"a\":\"?" + repeated("&b", 3 << 20) + "\"}");
    files.emplace_back("one line with a question mark, of 36 MiB", "{\"a\":\"?" + repeated("&b", 18 << 20) + "\"}");
    expectRefused(files);
}

// --- random files ----------------------------------------------------------------------------------------------------

//! Openings of all kinds, and now and then what could hide them.
std::string randomNest(RNG& rng, const std::string& format, int depth)
{
    static const char* const xml[] = {"<a>",
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
    static const char* const yaml[] = {
        "[ ",          "{ a: ", "- ", "a: ",     "a:",    "# ]\n      ", "[ # \"\n      ", "\"]\", ", "'#', ",
        "!!opencv-x ", "?",     "-",  "[ ']', ", "[ 1, ", "\n      ",    "!!map ",         "&a "};
    static const char* const json[] = {
        "[",   "{\"a\":", "/* \" */[", "// \"\n[", "/* ] */[", "[\"]\",",   "[\"\\\"\",[", "/*/ \" */[",
        "[1,", "[ \n[",   "//]\n[",    "{\"]\":",  "\"[",      "{\"a\\\":", "[null,",      "[/**/"};
    const char* const* const parts = format == ".xml" ? xml : format == ".yml" ? yaml : json;
    const int count = static_cast<int>(format == ".xml"   ? std::size(xml)
                                       : format == ".yml" ? std::size(yaml)
                                                          : std::size(json));
    const int usual = rng.uniform(0, count), other = rng.uniform(0, count), rarely = rng.uniform(2, 500);
    std::string text = (rng.uniform(0, 8) == 0 ? "\xef\xbb\xbf" : "") + frameOf(format).begin;
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
                    for (const char* format : FORMATS)
                    {
                        const uint64 seed = rng.state;
                        const std::string text = randomNest(rng, format, rng.uniform(1000, 8000));
                        aboutTo(cv::format("nest %d in %s, state %llu: %s", i, format,
                                           static_cast<unsigned long long>(seed), text.substr(40, 80).c_str()));
                        EXPECT_EQ(0, readers.buffer(text) + (i % 10 == 0 ? readers.all(text) : 0));
                    }
            });
}

//! Mutations of files that can be read: some can still be read, none does harm.
void readMutations(const std::function<std::vector<std::string>(const std::string&)>& textsOf,
                   const std::function<int(Readers&, const std::string&)>& read)
{
    ChildLimits limits = LIMITS;
    limits.seconds += casesOf() / 50; // three formats; a text of an object takes two milliseconds
    inChild(limits,
            [&]
            {
                Readers readers;
                RNG rng(theRNG().state);
                for (const char* format : FORMATS)
                {
                    const std::vector<std::string> texts = textsOf(format);
                    for (const std::string& text : texts)
                        EXPECT_EQ(1, read(readers, text)) << format;
                    int taken = 0;
                    for (int i = 0; i < casesOf(); ++i)
                    {
                        aboutTo(cv::format("mutation %d of %s, state %llu", i, format,
                                           static_cast<unsigned long long>(rng.state)));
                        taken += read(readers, mutatedText(texts[i % texts.size()], rng, 2500, 3));
                    }
                    std::cout << format << ": " << taken << " of " << casesOf() << " taken" << std::endl;
                    EXPECT_GT(taken, 0);
                    EXPECT_LT(taken, casesOf());
                }
            });
}

TEST(Common_HostileFiles, mutatedCascades)
{
    readMutations(cascadeTexts, [](Readers& readers, const std::string& text) { return readers.buffer(text); });
}

TEST(Common_HostileFiles, mutatedObjects)
{
    readMutations([](const std::string& format) { return std::vector<std::string>{objectText(format)}; },
                  [](Readers& readers, const std::string& text) { return readers.tracker(text); });
}

}} // namespace opencv_test
