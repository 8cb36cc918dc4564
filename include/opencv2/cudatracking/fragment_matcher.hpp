// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Matches of one fragment on the host, from FragmentMatcher::find() or FragmentMatcher::convert(). */
struct CV_EXPORTS_W_SIMPLE FragmentMatch
{
    CV_WRAP FragmentMatch() : confidence(-1.f), status(0) {}

    /** Top-left corner of the fragment at each peak, pixels of the frame; the best one first (not always with
    THREE_STEP). Empty if there is none. */
    CV_PROP_RW std::vector<Point> locations;
    /** Locations with sub-pixel precision; equal to `locations` if Params::subpixel is false. */
    CV_PROP_RW std::vector<Point2f> refined;
    CV_PROP_RW std::vector<float> scores; //!< score of each peak: 0 is perfect for SAD and SSD, 1 for ZNCC
    /** How distinct the first peak is from the second one; larger is more distinct. -1 if there is no second peak. */
    CV_PROP_RW float confidence;
    CV_PROP_RW int status; //!< FragmentMatcher::Status
};

/** @brief Exact template matching of many weighted templates at once, each in its own search area.

A *fragment* is a template: a small image with an optional weight for each pixel. Set fragments by setFragments() or
cutFragments(), then call find() or match() for each frame. They return for each fragment the best positions (*peaks*),
their scores, and a confidence. find() returns structures on the host; match() fills arrays, on the device if you like.

@code
// Finds patches of a frame in the next one, at most 20 pixels from where they were.
void follow(const cv::Mat& frame, const cv::Mat& next, const std::vector<cv::Rect>& patches)
{
    const cv::Ptr<cv::cuda::FragmentMatcher> matcher = cv::cuda::FragmentMatcher::create();
    matcher->cutFragments(frame, patches);
    std::vector<cv::Rect> areas;
    for (const cv::Rect& patch : patches)
        areas.push_back(cv::Rect(patch.x - 20, patch.y - 20, patch.width + 40, patch.height + 40));
    std::vector<cv::cuda::FragmentMatch> matches;
    matcher->find(next, areas, matches); // a GpuMat as frame: on the CUDA device
    for (const cv::cuda::FragmentMatch& match : matches)
        if (match.status == cv::cuda::FragmentMatcher::FOUND && match.confidence > 1.5f)
            std::cout << match.locations[0] << ", score " << match.scores[0] << std::endl;
}
@endcode

__Images__: frames and templates are CV_8U or CV_16U with 1, 3 or 4 channels (the fourth is ignored), all of one type,
with sides of 1 to 32,767 pixels. Fragments have at most 16,843,523 pixels times channels (gray: 4,104 x 4,104). Frames
and templates may be regions of interest.

__16 bits__: SSD and ZNCC take CV_16U; SAD does not. Map floating-point images to 16 bits first, with one range for
fragments and frames: `image.convertTo(words, CV_16U, 65535 / (high - low), -low * 65535 / (high - low))`.

__Weights__ q are factors of each pixel of a template: CV_8UC1 with q = 0 to 255, or CV_32FC1 with w in [0,1] and q =
255 w, rounded half to even. They have the size of the template. Without weights all q are 255.

__Scores__ compare a template T with the part of the frame I under it:

| metric | score at a position                                                                              | perfect |
|--------|--------------------------------------------------------------------------------------------------|--------:|
| SAD    | sum of q abs(I - T) over pixels and channels, divided by the sum of q over pixels; 0 to 765       | 0       |
| SSD    | sum of q (I - T)^2 over pixels and channels, divided by the sum of q over pixels; 0 to 195,075    | 0       |
| ZNCC   | weighted correlation coefficient of T and I; -1 to 1; 0 if one of them is constant                | 1       |

Ranges are those of three channels of 8 bits. ZNCC ignores brightness and contrast. The search is exhaustive, except
with THREE_STEP. Sums are exact integers, and the lowest row-major index wins ties: results are bit-identical.

__Peaks__: peak 0 is the best position. Each further peak is the best one at the distance Params::exclusionDistance from
all peaks before it, by the rule Params::exclusion.

__Confidence__ is score 1 / score 0, for ZNCC (1 - score 1) / (1 - score 0): 1 if both are equally good, larger if peak
0 is more distinct, +infinity if only peak 0 is perfect, -1 if there is no peak 1. It may be below 1 with THREE_STEP
only. A threshold for SAD does not suit SSD.

__Waiting, lifetimes, threads, errors__: see cudatracking.hpp.

__CUDA graphs__: fragments given as Mat are uploaded by the first match() with a GpuMat, which must not be captured.
Replays read the frame, and areas and predictions in device memory, again. They use the contents of later edits that
keep number, sizes, type and presence of weights of the fragments (given as Mat: after the next match() outside of a
capture). Capture again after other edits.

Guide: doc/fragment_matcher.md; formulas: doc/fragment_matcher_algorithm.md. Source: Yu. V. Ladyzhensky, A. O. Sereda,
Shtuchnyi intelekt 2010, no. 4 (weighted fragments, best and second position, three-step search); Y. Ma, X. Yuan, J. Li,
2014 (ZNCC on CUDA). */
class CV_EXPORTS_W FragmentMatcher : public Algorithm
{
public:
    //! Measure by which positions are compared; the class comment has the formulas.
    enum Metric
    {
        SAD = 0, //!< weighted sum of absolute differences
        SSD = 1, //!< weighted sum of squared differences
        //! weighted zero-mean normalized cross-correlation; 8 bits: slower above 53,824 pixels (232 x 232)
        ZNCC = 2
    };
    //! Distance rule for peaks, for the offset (dx, dy) between any two of them; d is Params::exclusionDistance.
    enum Exclusion
    {
        SQUARE = 0, //!< max(|dx|, |dy|) >= d: no peak in the square of 2d-1 x 2d-1 positions around another
        CROSS = 1   //!< min(|dx|, |dy|) >= d: no peak in the 2d-1 rows or in the 2d-1 columns around another
    };
    //! Search method for peak 0.
    enum Search
    {
        FULL = 0, //!< exhaustive search
        /** Approximate three-step search from the center of the area or from setPredictions(). It finds the best
        position only if scores improve towards it from far away, and saves time only if Params::peaks is 1. */
        THREE_STEP = 1
    };
    //! Curve through the scores of a peak and of its two neighbors along an axis; its extremum is the sub-pixel
    //! position.
    enum SubpixelFit
    {
        //! A parabola; for SAD, whose scores rise linearly, two lines of equal and opposite slope.
        PARABOLA = 0,
        /** A Gaussian, for ZNCC alone: less bias in images of particles (doc/windows.md). Along an axis where one of
        the three scores is not positive it is a parabola. */
        GAUSSIAN = 1
    };
    //! Outcome of the search for a fragment.
    enum Status
    {
        FOUND = 0,         //!< there is at least one peak
        NO_POSITION = 1,   //!< no peak: it does not fit into its area, or its weights in device memory are all 0
        FLAT_FRAGMENT = 2, //!< ZNCC only: the fragment is constant, so all its scores are 0
        AREA_TOO_LARGE = 3 //!< no peak: its area in device memory, clipped, is larger than Params::maxSearchArea
    };

    //! Parameters of a matcher. create() and setParams() check their ranges.
    struct CV_EXPORTS_W_SIMPLE Params
    {
        CV_WRAP Params();

        CV_PROP_RW int metric;            //!< Metric. Default SAD
        CV_PROP_RW int exclusion;         //!< Exclusion. Default SQUARE
        CV_PROP_RW int exclusionDistance; //!< d, pixels, 1..32767; 0: half of the smaller side, at least 1. Default 0
        CV_PROP_RW int peaks;             //!< number of peaks, 1..16. Default 2: best and second best
        CV_PROP_RW bool subpixel;         //!< whether `refined` has sub-pixel precision. Default false
        CV_PROP_RW int subpixelFit;       //!< SubpixelFit. Default PARABOLA; GAUSSIAN needs ZNCC
        CV_PROP_RW int search;            //!< Search. Default FULL
        /** Largest width and height of search areas in device memory, which the host cannot read, after they are
        clipped to the frame; each side counts for itself. Default (0,0). If a side is 0, match() takes in device memory
        only the areas that the last predictAreas() of the instance wrote. */
        CV_PROP_RW Size maxSearchArea;
    };

    /** @brief Creates a matcher without fragments, for exact template matching of many weighted templates at once.

    A fragment is a template: a small image with an optional weight for each pixel. setFragments() or cutFragments()
    sets them; find() and match() locate all of them in a frame, each in its own search area. They return for each
    fragment its best positions (peaks), their scores, and a confidence: how distinct the best position is from the
    second best. Frames and templates are uint8 or uint16 arrays of 1, 3 or 4 channels (the fourth is ignored), all of
    one type: numpy arrays for the CPU, cv2.cuda.GpuMat for the device, with identical results.
    @code{.py}
    >>> frame = np.random.default_rng(1).integers(0, 256, (240, 320), np.uint8)
    >>> later = np.roll(frame, (3, 5), axis=(0, 1))
    >>> matcher = cv2.cuda.FragmentMatcher.create()
    >>> matcher.cutFragments(frame, [(40, 30, 16, 16), (200, 100, 24, 24)])
    >>> matches = matcher.find(later, [(20, 10, 56, 56), (180, 80, 64, 64)])
    >>> [match.locations[0].tolist() for match in matches], [float(match.scores[0]) for match in matches]
    ([[45, 33], [205, 103]], [0.0, 0.0])
    @endcode
    Calls of several threads on one instance are serialized.
    @param params parameters. Default: the defaults of all members.
    metric: SAD (0, default), of uint8 alone, or SSD (1): weighted sum of absolute or squared differences divided by the
    sum of weights, 0 is perfect; ZNCC (2): weighted zero-mean normalized cross-correlation, 1 is perfect. Fragments
    have at most 16,843,523 pixels times channels.
    exclusion: rule for the offset (dx, dy) between two peaks: SQUARE (0, default), max(|dx|, |dy|) >= d; CROSS (1),
    min(|dx|, |dy|) >= d.
    exclusionDistance: d in pixels, 1 to 32767; default 0: half of the smaller side of the fragment, at least 1.
    peaks: number of peaks, 1 to 16; default 2, the best and the second best.
    subpixel: whether positions are refined from the scores of their direct neighbors; default False.
    subpixelFit: PARABOLA (0, default), for SAD two lines; GAUSSIAN (1), for ZNCC alone, for images of particles.
    search: FULL (0, default), exhaustive; THREE_STEP (1), approximate three-step search for the best position.
    maxSearchArea: largest (width, height) of search areas in device memory after they are clipped to the frame; default
    (0, 0). If a side is 0, match() takes in device memory only areas that the last predictAreas() wrote. */
    CV_WRAP static Ptr<FragmentMatcher> create(const FragmentMatcher::Params& params = FragmentMatcher::Params());

    /** @brief Replaces all parameters; the fragments are kept.
    @param params parameters; create() explains the members. The next match() rejects SAD with fragments of 16 bits. */
    CV_WRAP virtual void setParams(const FragmentMatcher::Params& params) = 0;
    /** @brief Returns a copy of the parameters; create() explains them. */
    CV_WRAP virtual FragmentMatcher::Params getParams() const = 0;

    /** @brief setFragments() for a single template instead of a list. In Python: setFragments().
    @param templ template: CV_8U or CV_16U with 1, 3 or 4 channels, sides 1 to 32,767, Mat or GpuMat. It is copied.
    @param weights weights of its size, in the same memory: CV_8UC1, or CV_32FC1 in [0,1]. Default: none, 255 for every
    pixel.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP_AS(setFragments)
    void setFragment(InputArray templ, InputArray weights = noArray(), Stream& stream = cv::cuda::noStream())
    {
        setFragments(templ, weights, stream);
    }

    /** @brief Replaces all fragments. The call copies them and does not wait. Templates given as Mat can be matched
    against Mat and GpuMat frames, templates given as GpuMat only against GpuMat frames.
    @param templates list of 1 to 100,000 Mat or GpuMat, all of one type, CV_8U or CV_16U with 1, 3 or 4 channels (the
    fourth is ignored). Sides are 1 to 32,767 pixels and may differ; pixels times channels are at most 16,843,523. One
    array in place of the list is one fragment; then weights is one array.
    @param weights list with one array for each template, of its size and in the same memory (host or device): CV_8UC1,
    or CV_32FC1 with values in [0,1], which become 0 to 255. An empty array means no weights for that template. numpy's
    bool is refused: use 255 * mask.astype(np.uint8). Default: none, 255 for every pixel.
    @param stream stream for GpuMat templates; ignored for Mat. Default: the null stream. On a capturing stream number,
    sizes, type and presence of weights must be those of the current fragments; each replay copies the pixels again.
    Weights in device memory are not checked: NaN and values outside of [0,1] count as 0; all 0 gives NO_POSITION. */
    CV_WRAP virtual void setFragments(InputArrayOfArrays templates, InputArrayOfArrays weights = noArray(),
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Replaces all fragments by copies of regions of a frame, on the device for a GpuMat. Does not wait.
    @param frame image to cut from, Mat or GpuMat: CV_8U or CV_16U with 1, 3 or 4 channels, sides 1 to 32,767 pixels.
    @param regions 1 to 100,000 rectangles (x, y, width, height) inside of the frame, one for each fragment.
    @param weights list with one array for each region, of its size and in the frame's memory (host or device): CV_8UC1,
    or CV_32FC1 in [0,1]. Default: none, 255 for every pixel.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. On a capturing stream number, sizes,
    type and presence of weights must be those of the current fragments; each replay cuts again. */
    CV_WRAP virtual void cutFragments(InputArray frame, const std::vector<Rect>& regions,
                                      InputArrayOfArrays weights = noArray(),
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Appends one fragment; the first one, if there are none. Does not wait. A call with a GpuMat throws while
    its stream is being captured.
    @param templ template, one array, of the type and memory (Mat or GpuMat) of the other fragments; sides 1 to 32,767.
    @param weights weights of its size, in the same memory: CV_8UC1, or CV_32FC1 in [0,1]. Default: none, 255 for every
    pixel.
    @param stream stream for a GpuMat template; ignored for Mat. Default: the null stream.
    @return index of the fragment, from 0. */
    CV_WRAP virtual int addFragment(InputArray templ, InputArray weights = noArray(),
                                    Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Replaces one fragment; its size may change. The other fragments are not copied again. Does not wait.
    @param index index of the fragment, 0 to getFragmentCount()-1.
    @param templ template, one array, of the type and memory (Mat or GpuMat) of the other fragments.
    @param weights weights of its size, in the same memory: CV_8UC1, or CV_32FC1 in [0,1]. Default: none, 255 for every
    pixel.
    @param stream stream for a GpuMat template; ignored for Mat. Default: the null stream. On a capturing stream size
    and presence of weights must be those of the current fragment. */
    CV_WRAP virtual void updateFragment(int index, InputArray templ, InputArray weights = noArray(),
                                        Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Removes one fragment; later indices decrease by one.
    @param index index of the fragment, 0 to getFragmentCount()-1. */
    CV_WRAP virtual void removeFragment(int index) = 0;
    /** @brief Removes all fragments; parameters and memory are kept. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;

    /** @brief Sets the positions at which THREE_STEP starts. FULL ignores them.
    @param locations one top-left corner for each fragment in frame coordinates: CV_32SC2 with N rows, of which column 0
    is used (such as the locations of match()), CV_32SC1 of N x 2, a std::vector or, in Python, a list of (x, y).
    Positions outside of the area, also (-1,-1), are moved to the nearest valid one. Mat and GpuMat are kept by
    reference until they are replaced, all else is copied. match() and find() check with THREE_STEP that N is the number
    of fragments, and that the memory (host or device) is that of the frame. noArray() (None) or empty: THREE_STEP
    starts at the center. */
    CV_WRAP virtual void setPredictions(InputArray locations) = 0;

    /** @brief Finds all N fragments in a frame, K = Params::peaks positions for each. Waits only for outputs on the
    host.
    @param frame image to search, Mat or GpuMat of the fragments' type. An empty one gives empty outputs.
    @param searchAreas one rectangle for each fragment, in frame coordinates, in which the whole fragment must lie; it
    is intersected with the frame: std::vector<Rect>, CV_32SC4 (N x 1 or 1 x N) or CV_32SC1 (N x 4: x, y, width,
    height); noArray() (None): the whole frame. Python also accepts a list of (x, y, width, height). For a GpuMat frame,
    pass a GpuMat (in C++ also a host array); it needs maxSearchArea, unless the last predictAreas() of the instance
    wrote it. An area of width or height 0 has no position.
    @param locations CV_32SC2, N x K: top-left corner in the frame of peak j of fragment i; (-1,-1) without such a peak.
    Outputs of one column may be std::vector.
    @param scores CV_32FC1, N x K: scores, 0 is perfect for SAD and SSD, 1 for ZNCC; 0 if there is no such peak.
    @param confidence CV_32FC1, N x 1: second score / best score, for ZNCC (1 - second) / (1 - best); larger is more
    distinct. +infinity: only the best score is perfect; -1: there is no second peak.
    @param status CV_8UC1, N x 1: FOUND (0); NO_POSITION (1), the fragment does not fit into its area, or its weights in
    device memory are all 0; FLAT_FRAGMENT (2), ZNCC only, it is constant, so all its scores are 0; AREA_TOO_LARGE (3),
    its area in device memory, clipped to the frame, is larger than maxSearchArea or than the areas of predictAreas().
    With (1) and (3) location is (-1,-1), score 0, confidence -1.
    @param refined CV_32FC2, N x K: location plus an offset in [-0.5,0.5] for each axis by Params::subpixelFit (0 at the
    border of the area); (-1,-1) if there is no such peak. If Params::subpixel is false: the location.
    @param stream stream for GpuMat frames; ignored for Mat. Default: the null stream.
    @throws cv::Exception for SAD of 16 bits, or if the size of areas in device memory is not known. */
    CV_WRAP virtual void match(InputArray frame, InputArray searchAreas, OutputArray locations,
                               OutputArray scores = noArray(), OutputArray confidence = noArray(),
                               OutputArray status = noArray(), OutputArray refined = noArray(),
                               Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Converts the outputs of match() to host structures. Waits for the stream if an input is a GpuMat.
    @param locations CV_32SC2, N x K; for K = 1 also CV_32SC1 of N x 2, or a std::vector. Empty: no matches.
    @param scores,confidence,status,refined outputs of match(), or noArray() (None): score 0, confidence -1, status
    FOUND (NO_POSITION without a peak), refined = location.
    @param matches one FragmentMatch for each fragment, with members locations (x, y), refined (x, y) and scores, one
    element for each peak; confidence; status.
    @param stream stream for GpuMat inputs; ignored for Mat. Default: the null stream. */
    CV_WRAP static void convert(InputArray locations, InputArray scores, InputArray confidence, InputArray status,
                                InputArray refined, CV_OUT std::vector<FragmentMatch>& matches,
                                Stream& stream = cv::cuda::noStream());

    /** @brief Finds all fragments in a frame and returns structures on the host: match() and convert() in one call.
    Waits for the stream if the frame is a GpuMat.
    @param frame image to search, Mat or GpuMat of the fragments' type. An empty one gives no matches.
    @param searchAreas one rectangle for each fragment, in frame coordinates, in which the whole fragment must lie;
    noArray() (None): the whole frame. match() lists the accepted types.
    @param matches one FragmentMatch for each fragment, with members locations (x, y), refined (x, y) and scores, one
    element for each peak, the best one first; confidence; status: FOUND (0), NO_POSITION (1), FLAT_FRAGMENT (2) or
    AREA_TOO_LARGE (3).
    @param stream stream for a GpuMat frame; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual void find(InputArray frame, InputArray searchAreas, CV_OUT std::vector<FragmentMatch>& matches,
                              Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes the scores of all positions of one fragment. Waits only for outputs on the host.
    @param index index of the fragment, 0 to getFragmentCount()-1.
    @param frame image to search, Mat or GpuMat of the fragments' type. An empty one gives an empty map.
    @param searchArea rectangle in frame coordinates, in which the whole fragment must lie, clipped to the frame.
    Rect(), (0,0,0,0), means the whole frame; any other empty one has no position.
    @param map (area height - fragment height + 1) rows, (area width - fragment width + 1) columns; may be empty.
    @param depth CV_32F (default): the score. CV_32S or CV_64F: the weighted sum of SAD or SSD, not divided by the sum
    of weights (without weights 255 times the plain sum); not for ZNCC. CV_32S takes fragments of 8 bits of at most
    11,008 pixels for SAD and 43 for SSD. CV_64F is exact up to 2^53.
    @param stream stream for a GpuMat frame; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual void scoreMap(int index, InputArray frame, const Rect& searchArea, OutputArray map,
                                  int depth = CV_32F, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes the scores of all positions of all N fragments in one buffer. Waits only for outputs on the
    host.
    @param frame image to search, Mat or GpuMat of the fragments' type. An empty one gives an empty buffer.
    @param searchAreas one rectangle for each fragment as for match(), always on the host; noArray() (None): the whole
    frame.
    @param buffer 1 x M, one channel of the depth, M being the number of positions of all fragments, below 2^31; maps
    row by row without gaps. Empty if there is no position.
    @param offsets N + 1 numbers: the map of fragment i has the elements offsets[i] to offsets[i+1]-1.
    @param depth CV_32F (default): scores. CV_32S or CV_64F: sums of SAD or SSD, see scoreMap().
    @param stream stream for a GpuMat frame; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual void scoreMaps(InputArray frame, InputArray searchAreas, OutputArray buffer,
                                   CV_OUT std::vector<int>& offsets, int depth = CV_32F,
                                   Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes search areas for the next frame: each fragment at its location, enlarged by radius on each side.
    With GpuMat, match() of this instance takes the areas without maxSearchArea until the next predictAreas(). Waits
    only for outputs on the host.
    @param locations one top-left corner for each fragment, for example the locations of match(): CV_32SC2 with N rows,
    of which column 0 is used, CV_32SC1 of N x 2, a std::vector or, in Python, a list of (x, y). (-1,-1) means no match
    and gives an empty area, so that the fragment keeps status NO_POSITION.
    @param radius largest motion of a fragment in each direction, pixels; at least 0.
    @param frameSize (width, height) of the next frame, pixels, each at least 0; areas are intersected with it.
    @param areas CV_32SC4, N x 1, or a std::vector. It may be a GpuMat only if locations is a GpuMat.
    @param stream stream for GpuMat locations; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual void predictAreas(InputArray locations, int radius, Size frameSize, OutputArray areas,
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Makes a rotated and scaled copy of a template and its weights (bilinear) on the host, for addFragment().
    @param templ template, a Mat: CV_8U or CV_16U with 1, 3 or 4 channels.
    @param weights weights of its size, a Mat: CV_8UC1, or CV_32FC1 with values in [0,1]; noArray() (None): none.
    @param angle rotation in degrees, counter-clockwise.
    @param scale scale factor, above 0.
    @param warped bounding box of the rotated template; sides rounded to the nearest integer, 1 to 32,767.
    @param warpedWeights CV_8UC1 of the same size: 0 outside of the template, interpolated at its border. */
    CV_WRAP static void warpFragment(InputArray templ, InputArray weights, double angle, double scale,
                                     OutputArray warped, OutputArray warpedWeights);

    /** @brief Returns the number of fragments. */
    CV_WRAP virtual int getFragmentCount() const = 0;
    /** @brief Returns the size (width, height) of one fragment in pixels.
    @param index index of the fragment, 0 to getFragmentCount()-1. */
    CV_WRAP virtual Size getFragmentSize(int index) const = 0;
    /** @brief Returns the device and pinned host memory held by this instance in bytes, including fragments and memory
    that graphs refer to. The CPU backend is not counted: it keeps at most 128 MiB and copies of the fragments. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Returns the name of the class in files: "FragmentMatcher". Files contain parameters, not fragments. */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    //! Writes the parameters.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads parameters; missing ones keep their values. Not for untrusted files. Call
    matcher->read(storage.getFirstTopLevelNode()): Algorithm::load<FragmentMatcher>() returns an empty Ptr.
    @throws cv::Exception if the node has none of the parameters, or one that is out of its range or of another type. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
    /** @brief Returns true if there are no fragments. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
};

/** @brief Grid of equal windows of a frame, for the motion between two images: particles, ice, ground.

Each window is a fragment of the first image that FragmentMatcher searches in the second one, around its own place or
moved by a field of motion. All methods but regions() take arrays on the host or in device memory, do not wait, and can
be captured into a CUDA graph, with identical results. Several threads may use a grid at once.

@code
// Motion between two images in windows of 32 pixels that overlap by half, at most 12 pixels in each direction.
void motion(const cv::Mat& first, const cv::Mat& second, cv::Mat& u, cv::Mat& v, cv::Mat& valid)
{
    cv::cuda::FragmentMatcher::Params params;
    params.metric = cv::cuda::FragmentMatcher::ZNCC;
    params.subpixel = true;
    const cv::Ptr<cv::cuda::FragmentMatcher> matcher = cv::cuda::FragmentMatcher::create(params);
    const auto grid = cv::cuda::WindowGrid::create(first.size(), cv::Size(32, 32), cv::Size(16, 16));
    std::vector<cv::Rect> windows, areas;
    grid.regions(windows);
    grid.areas(cv::Size(12, 12), cv::noArray(), cv::noArray(), areas); // pass u and v for a second pass
    matcher->cutFragments(first, windows);
    cv::Mat locations, scores, confidences, status, refined;
    matcher->match(second, areas, locations, scores, confidences, status, refined);
    grid.field(areas, refined, scores, confidences, status, u, v, cv::noArray(), cv::noArray(), valid);
}
@endcode
*/
struct CV_EXPORTS_W_SIMPLE WindowGrid
{
    //! Makes a grid without a frame, which all methods refuse. In Python only create() makes grids.
    WindowGrid() {}

    /** @brief Makes a grid whose first window is in the top-left corner of the frame. All windows lie inside of it.
    @param frame (width, height) of the images in pixels, 1 to 32,767 each.
    @param window (width, height) of a window in pixels, at most those of the frame.
    @param step distance (x, y) between neighboring windows in pixels, 1 to 32,767 each. Half of the window is an
    overlap of 50 %. */
    CV_WRAP static WindowGrid create(Size frame, Size window, Size step);

    CV_PROP_RW Size frame;  //!< width and height of the images, pixels
    CV_PROP_RW Size window; //!< width and height of a window, pixels
    CV_PROP_RW Size step;   //!< distance between neighboring windows, pixels

    /** @brief Returns the number of columns (width) and rows (height) of the grid. */
    CV_WRAP Size size() const;

    /** @brief Returns the windows row by row, for FragmentMatcher::cutFragments().
    @param regions CV_32SC4, N x 1, or std::vector<Rect>: (x, y, width, height). */
    CV_WRAP void regions(OutputArray regions) const;

    /** @brief Returns a search area for each window, for FragmentMatcher::match(): the window, moved by a field of
    motion, and enlarged by `reach` on each side. Areas are not clipped to the frame. If they are a GpuMat, set
    Params::maxSearchArea to window + 2 reach.
    @param reach largest motion (x, y) beyond that of the field in pixels, 0 to 32,767 each.
    @param u,v field of motion in pixels: CV_32FC1 of any number of rows and columns, resampled to the grid by index:
    window i of n takes element floor((i + .5) m / n) of m, rounded to whole pixels, half to even. NaN or infinity gives
    an empty area. Both lie in the memory of `areas`. Empty (None) for both: no motion.
    @param areas CV_32SC4, N x 1, or std::vector<Rect>; a GpuMat: the work is done on the device.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP void areas(Size reach, InputArray u, InputArray v, OutputArray areas,
                       Stream& stream = cv::cuda::noStream()) const;

    /** @brief Converts the first peaks of all windows to a field: arrays with the rows and columns of the grid. All
    arrays are Mat, or all are GpuMat.
    @param areas search areas of the match, those of areas() or others: CV_32SC4, N x 1, or std::vector<Rect>.
    @param refined,scores,confidences,status outputs of FragmentMatcher::match(): CV_32FC2 and CV_32FC1 of N rows,
    CV_32FC1 and CV_8UC1 of N x 1.
    @param u,v CV_32FC1: motion in pixels, the position of a match minus that of its window; NaN where there is none.
    @param score CV_32FC1: score of the match; 0 if there is none.
    @param confidence CV_32FC1: confidence of the match; -1 if there is no second peak.
    @param valid CV_8UC1: 1 where there is a match inside its area. 0 without a match, and where the match is on the
    edge of the area, clipped to the frame: the motion may be larger than the area allows. An axis without reach has no
    edge. Valid does not mean correct: a window whose content disappeared still has a best match.
    @param stream stream for GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP void field(InputArray areas, InputArray refined, InputArray scores, InputArray confidences,
                       InputArray status, OutputArray u, OutputArray v, OutputArray score = noArray(),
                       OutputArray confidence = noArray(), OutputArray valid = noArray(),
                       Stream& stream = cv::cuda::noStream()) const;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP
