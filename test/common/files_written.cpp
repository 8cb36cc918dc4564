// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// save() of all classes: the whole file or nothing, and an exception that names the file.
#include "../cascade/generate.hpp"
#include "../tld/scenes.hpp"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <csignal>
#include <functional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

namespace opencv_test { namespace {

namespace fs = std::filesystem;

//! A folder of its own, gone in the end.
struct Folder
{
    Folder() : path(cv::tempfile("_folder")) { fs::create_directory(path); }
    ~Folder()
    {
        std::error_code ignored; // destructors never throw
        fs::remove_all(path, ignored);
    }
    std::string file(const std::string& name) const { return (fs::path(path) / name).string(); }
    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const auto& entry : fs::directory_iterator(path))
            all.push_back(entry.path().filename().string());
        std::sort(all.begin(), all.end());
        return all;
    }

    const std::string path;
};

//! Everything that saves.
struct Saver
{
    const char* name;
    std::function<void(const std::string&)> save;
};

std::vector<Saver> savers()
{
    const tld::StandardScene scene;
    const Ptr<tld::TrackerTLD> tracker = tld::trackerOn(scene, tld::Engine::CPU);
    const Ptr<tld::TLDDetector> detector = tld::TLDDetector::create();
    const Ptr<tld::MultiTrackerTLD> several = tld::MultiTrackerTLD::create();
    detector->init(scene.frame(0), scene.box(0));
    several->add(scene.frame(0), scene.box(0));
    const auto ofAlgorithm = [](const Ptr<Algorithm>& algorithm)
    { return [algorithm](const std::string& file) { algorithm->save(file); }; };
    const auto old = std::make_shared<Folder>(); // lives as long as the last copy of convert
    RNG rng(20261122);
    std::ofstream(old->file("cascade.xml"))
        << cascadeText(CascadeGenerator(7, randomImage(rng, Size(97, 83), CV_8UC1, 5)).make(), ".xml");
    const auto convert = [old](const std::string& file)
    { EXPECT_TRUE(cuda::CascadeClassifierEx::convert(old->file("cascade.xml"), file)); };
    return {{"CascadeClassifierEx::convert", convert},
            {"TrackerTLD", [tracker](const std::string& file) { tracker->save(file); }},
            {"TLDDetector", ofAlgorithm(detector)},
            {"MultiTrackerTLD", ofAlgorithm(several)},
            {"MultiTrackerTLD::saveObject", [several](const std::string& file) { several->saveObject(0, file); }},
            {"FragmentMatcher", ofAlgorithm(cuda::FragmentMatcher::create())},
            {"QuickShift", ofAlgorithm(cuda::QuickShift::create())},
            {"TemplateFinder", ofAlgorithm(cuda::TemplateFinder::create())},
            {"CascadeClassifierEx", ofAlgorithm(cuda::CascadeClassifierEx::create())}};
}

void expectFailure(const Saver& saver, const std::string& file, const std::string& why = "cannot be written")
{
    expectRefused([&] { saver.save(file); }, {file, "cannot be written", why});
}

TEST(Common_FilesWritten, anEmptyNameIsSaid)
{
    const std::string says = "the file name is empty";
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        expectRefused([&] { saver.save(""); }, {says});
    }
    expectRefused([] { cuda::CascadeClassifierEx::create()->load(""); }, {says});
    expectRefused([] { cuda::CascadeClassifierEx::convert("", "x.xml"); }, {says});
    expectRefused([] { cuda::TrackerTLD::create()->load(""); }, {says});
}

//! Formats that FileStorage has and the module has not.
TEST(Common_FilesWritten, otherEndingsAreRefused)
{
    for (const Saver& saver : savers())
        for (const char* const name : {"a.yml", "a.yaml", "a.json", "a.xml.gz", "a.yml.gz", "a"})
        {
            SCOPED_TRACE(saver.name);
            const Folder folder;
            expectRefused([&] { saver.save(folder.file(name)); }, {"filename", name, "must end with .xml"});
            EXPECT_TRUE(folder.names().empty());
        }
}

TEST(Common_FilesWritten, replacesAFile)
{
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        const std::string file = folder.file("a.xml");
        saver.save(file);
        const std::string content = contentOf(file);
        EXPECT_GT(content.size(), 20u);
        std::ofstream(file) << "something else";
        fs::permissions(file, static_cast<fs::perms>(0640));
        saver.save(file);
        EXPECT_EQ(content, contentOf(file));
        EXPECT_EQ(0640u, static_cast<unsigned>(fs::status(file).permissions()));
        EXPECT_EQ(std::vector<std::string>{"a.xml"}, folder.names());
    }
}

TEST(Common_FilesWritten, foldersThatAreNone)
{
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        fs::create_directory(folder.file("folder.xml"));
        std::ofstream(folder.file("file")) << "x";
        expectFailure(saver, folder.file("folder.xml"), "Is a directory");
        expectFailure(saver, folder.file("missing/a.xml"));
        expectFailure(saver, folder.file("file/a.xml"));
        EXPECT_EQ((std::vector<std::string>{"file", "folder.xml"}), folder.names());
    }
}

//! Acts like a full disk: the first bytes can be written, and the others cannot.
class Limited
{
public:
    explicit Limited(rlim_t bytes)
    {
        getrlimit(RLIMIT_FSIZE, &before_);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit = before_;
        limit.rlim_cur = bytes;
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~Limited()
    {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_;
    void (*handler_)(int);
};

TEST(Common_FilesWritten, diskIsFull)
{
    for (const Saver& saver : savers())
        for (const bool old : {false, true})
        {
            SCOPED_TRACE(saver.name);
            const Folder folder;
            const std::string file = folder.file("a.xml");
            if (old)
                std::ofstream(file) << "old";
            {
                const Limited limited(10);
                expectFailure(saver, file);
            }
            EXPECT_EQ(old ? std::vector<std::string>{"a.xml"} : std::vector<std::string>(), folder.names());
            EXPECT_EQ(old ? "old" : "", contentOf(file));
            saver.save(file);
            EXPECT_GT(contentOf(file).size(), 20u);
        }
}

//! Links stay links.
TEST(Common_FilesWritten, throughLinks)
{
    const Saver saver = savers()[1];
    const Folder folder;
    saver.save(folder.file("a.xml"));
    const std::string content = contentOf(folder.file("a.xml"));
    std::ofstream(folder.file("a.xml")) << "old";
    fs::create_symlink("a.xml", folder.file("b.xml"));
    saver.save(folder.file("b.xml"));
    EXPECT_TRUE(fs::is_symlink(folder.file("b.xml")));
    EXPECT_EQ(content, contentOf(folder.file("a.xml")));
}

//! Pipes and devices are written directly.
TEST(Common_FilesWritten, whatIsNoFile)
{
    const Saver saver = savers()[1];
    const Folder folder;
    saver.save(folder.file("a.xml"));
    const std::string pipe = folder.file("pipe.xml");
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    std::string read;
    std::thread reader([&] { read = contentOf(pipe); });
    saver.save(pipe);
    reader.join();
    EXPECT_EQ(contentOf(folder.file("a.xml")), read);
    EXPECT_TRUE(fs::is_fifo(pipe));

    fs::create_symlink("/dev/full", folder.file("full.xml"));
    expectFailure(saver, folder.file("full.xml"));
    EXPECT_TRUE(fs::is_symlink(folder.file("full.xml")));
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
    EXPECT_EQ((std::vector<std::string>{"a.xml", "full.xml", "pipe.xml"}), folder.names());
}

TEST(Common_FilesWritten, quickShiftIsLoaded)
{
    const Folder folder;
    const Ptr<cuda::QuickShift> made = cuda::QuickShift::create(4.5, 17., 0.25);
    made->setTieRule(cuda::QuickShift::STRICT);
    made->save(folder.file("a.xml"));
    const Ptr<cuda::QuickShift> read = cuda::QuickShift::load(folder.file("a.xml"));
    EXPECT_EQ(4.5, read->getSigma());
    EXPECT_EQ(17., read->getMaxDist());
    EXPECT_EQ(Scalar::all(0.25), read->getChannelScales());
    EXPECT_EQ(int(cuda::QuickShift::STRICT), read->getTieRule());
    for (const std::string& file : {folder.file("missing.xml"), folder.file("other.xml")})
    {
        std::ofstream(folder.file("other.xml"))
            << "<?xml version=\"1.0\"?>\n<opencv_storage>\n<x>3</x>\n</opencv_storage>\n";
        expectRefused([&] { cuda::QuickShift::load(file); }, {file});
    }
}

}} // namespace opencv_test
