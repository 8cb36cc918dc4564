// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Scratch memory of the correlation filter on the device, and its launches.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_CORRELATION_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_CORRELATION_HPP

#include "../../common/views.hpp"
#include "../../tld/core_cells.hpp"

namespace cv { namespace cuda { namespace tld { namespace correlation { namespace gpu {

using detail::ImageView;
using detail::StreamHandle;

const int TILE_CELLS = 8, TILES_ACROSS = GRID / TILE_CELLS, TILES = TILES_ACROSS * TILES_ACROSS;
static_assert(GRID % TILE_CELLS == 0, "whole tiles");

//! Purpose of a look at an image.
enum Use
{
    NOTHING, //!< there is none
    ASKS,    //!< answers for all sizes
    TRAINS,  //!< spectra of the middle size, for the filter
    BEGINS   //!< the same for a filter that has no model yet
};

//! Scratch memory of a look: at the last box and then where the filter is trained, or at the second place.
struct Look
{
    int32_t use;        //!< Use
    TargetCells target; //!< of the training
    Place place;
    float channels[SIZES][CHANNELS][CELLS];
    int64_t energies[SIZES][BLOCKS][TILES];   //!< sums of energyOf()
    Complex products[SIZES][PAIRS][SPECTRUM]; //!< of pairAnswer()
    Answer answers[SIZES];
};

//! Addresses of the data of a filter.
struct Record
{
    const int32_t* current; //!< index of the current model
    Spectra* models[2];
    Look* looks;               //!< two
    Spectra *image, *solution; //!< of the training
};

//! Computes the channels of the cells of a place, of all filters. @param place index of the look.
void cells(const Record* records, int count, const ImageView& image, int place, StreamHandle stream);
//! Computes spectra: their products with the model, or those that the filter learns.
void spectra(const Record* records, int count, const Tables* tables, int place, StreamHandle stream);
//! Finds the answers of the places that ask.
void answers(const Record* records, int count, const Tables* tables, int place, StreamHandle stream);
//! Solves for the filters of the first looks that train: writes the models that are not current.
void train(const Record* records, int count, const Tables* tables, StreamHandle stream);

}}}}} // namespace cv::cuda::tld::correlation::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_CORRELATION_HPP
