// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// save() of all classes: the whole file or nothing, and an exception that names the file.
#include "../cascade/generate.hpp"
#include "../tld/scenes.hpp"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#ifdef __unix__
#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace opencv_test { namespace {

namespace fs = std::filesystem;

//! A folder of its own, gone in the end.
struct Folder
{
    Folder() : path(cv::tempfile("_folder")) { fs::create_directory(path); }
    ~Folder() { fs::remove_all(path); }
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

std::string contentOf(const std::string& file)
{
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

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
            {"CascadeClassifierEx", ofAlgorithm(cuda::CascadeClassifierEx::create())}};
}

void expectFailure(const Saver& saver, const std::string& file)
{
    try
    {
        saver.save(file);
        ADD_FAILURE() << "reported success";
    }
    catch (const cv::Exception& e)
    {
        EXPECT_NE(std::string::npos, e.err.find(file)) << e.err;
        EXPECT_NE(std::string::npos, e.err.find("cannot be written")) << e.err;
    }
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

TEST(Common_FilesWritten, replacesAFile)
{
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        const std::string file = folder.file("a.yml");
        saver.save(file);
        const std::string content = contentOf(file);
        EXPECT_GT(content.size(), 20u);
        std::ofstream(file) << "something else";
        saver.save(file);
        EXPECT_EQ(content, contentOf(file));
        EXPECT_EQ(std::vector<std::string>{"a.yml"}, folder.names());
        saver.save(folder.file("b.xml"));
        EXPECT_EQ('<', contentOf(folder.file("b.xml"))[0]);
        saver.save(folder.file("c.json"));
        EXPECT_EQ('{', contentOf(folder.file("c.json"))[0]);
    }
}

TEST(Common_FilesWritten, foldersThatAreNone)
{
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        fs::create_directory(folder.file("folder.yml"));
        std::ofstream(folder.file("file")) << "x";
        expectFailure(saver, folder.file("folder.yml"));
        expectFailure(saver, folder.file("missing/a.yml"));
        expectFailure(saver, folder.file("file/a.yml"));
        EXPECT_EQ((std::vector<std::string>{"file", "folder.yml"}), folder.names());
    }
}

#ifdef __unix__

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
            const std::string file = folder.file("a.yml");
            if (old)
                std::ofstream(file) << "old";
            {
                const Limited limited(10);
                expectFailure(saver, file);
            }
            EXPECT_EQ(old ? std::vector<std::string>{"a.yml"} : std::vector<std::string>(), folder.names());
            EXPECT_EQ(old ? "old" : "", contentOf(file));
            saver.save(file);
            EXPECT_GT(contentOf(file).size(), 20u);
        }
}

TEST(Common_FilesWritten, deviceIsFull)
{
    if (!fs::exists("/dev/full"))
        throw SkipTestException("there is no /dev/full");
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        fs::create_symlink("/dev/full", folder.file("full.yml"));
        expectFailure(saver, folder.file("full.yml"));
        EXPECT_TRUE(fs::is_symlink(folder.file("full.yml")));
        EXPECT_TRUE(fs::is_character_file("/dev/full"));
        EXPECT_EQ(std::vector<std::string>{"full.yml"}, folder.names());
    }
}

TEST(Common_FilesWritten, noPermission)
{
    if (geteuid() == 0)
        throw SkipTestException("root may write anywhere");
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        std::ofstream(folder.file("a.yml")) << "old";
        fs::permissions(folder.file("a.yml"), fs::perms::owner_read);
        expectFailure(saver, folder.file("a.yml"));
        fs::permissions(folder.path, fs::perms::owner_read | fs::perms::owner_exec);
        expectFailure(saver, folder.file("b.yml"));
        fs::permissions(folder.path, fs::perms::owner_all);
        EXPECT_EQ("old", contentOf(folder.file("a.yml")));
        EXPECT_EQ(std::vector<std::string>{"a.yml"}, folder.names());
    }
}

//! Links stay links, permissions stay.
TEST(Common_FilesWritten, throughLinks)
{
    const Saver saver = savers()[1];
    const Folder folder, other;
    saver.save(folder.file("a.yml"));
    const std::string content = contentOf(folder.file("a.yml"));
    fs::permissions(folder.file("a.yml"), fs::perms::owner_read | fs::perms::owner_write);
    std::ofstream(folder.file("a.yml")) << "old";
    fs::create_symlink("a.yml", folder.file("b.yml"));
    fs::create_symlink(folder.file("b.yml"), other.file("c.yml"));
    saver.save(other.file("c.yml"));
    EXPECT_TRUE(fs::is_symlink(folder.file("b.yml")) && fs::is_symlink(other.file("c.yml")));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder.file("a.yml"))));
    EXPECT_EQ(content, contentOf(folder.file("a.yml")));
    EXPECT_EQ(fs::perms::owner_read | fs::perms::owner_write, fs::status(folder.file("a.yml")).permissions());
    EXPECT_EQ(std::vector<std::string>{"c.yml"}, other.names());
    fs::create_symlink("new.yml", folder.file("d.yml")); // leads to what is not there yet
    saver.save(folder.file("d.yml"));
    EXPECT_EQ(content, contentOf(folder.file("new.yml")));
    EXPECT_TRUE(fs::is_symlink(folder.file("d.yml")));
    fs::create_symlink("loop.yml", folder.file("loop.yml"));
    expectFailure(saver, folder.file("loop.yml"));
}

//! Pipes are written directly.
TEST(Common_FilesWritten, intoAPipe)
{
    const Saver saver = savers()[1];
    const Folder folder;
    saver.save(folder.file("a.yml"));
    const std::string pipe = folder.file("pipe.yml");
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    std::string read;
    std::thread reader([&] { read = contentOf(pipe); });
    saver.save(pipe);
    reader.join();
    EXPECT_EQ(contentOf(folder.file("a.yml")), read);
    EXPECT_TRUE(fs::is_fifo(pipe));
}

#endif // __unix__

TEST(Common_FilesWritten, quickShiftIsLoaded)
{
    const Folder folder;
    const Ptr<cuda::QuickShift> made = cuda::QuickShift::create(4.5, 17., 0.25);
    made->setTieRule(cuda::QuickShift::STRICT);
    made->save(folder.file("a.json"));
    const Ptr<cuda::QuickShift> read = cuda::QuickShift::load(folder.file("a.json"));
    EXPECT_EQ(4.5, read->getSigma());
    EXPECT_EQ(17., read->getMaxDist());
    EXPECT_EQ(Scalar::all(0.25), read->getChannelScales());
    EXPECT_EQ(int(cuda::QuickShift::STRICT), read->getTieRule());
    for (const std::string& file : {folder.file("missing.yml"), folder.file("other.yml")})
    {
        std::ofstream(folder.file("other.yml")) << "%YAML:1.0\n---\nx: 3\n";
        try
        {
            cuda::QuickShift::load(file);
            ADD_FAILURE() << file;
        }
        catch (const cv::Exception& e)
        {
            EXPECT_NE(std::string::npos, e.err.find(file)) << e.err;
        }
    }
}

}} // namespace opencv_test
