# CUDA's headers. Nothing of CUDA is linked: its libraries are loaded at first use. The headers are those of a toolkit,
# and those that the toolkit lacks are the ones that scripts/install-deps puts into build/cuda.
option(WEFT_CUDA "Compile kernels for CUDA devices; OFF builds without CUDA's headers" ON)
set(WEFT_CUDA_WHEELS ${CMAKE_SOURCE_DIR}/build/cuda)
if(WEFT_CUDA)
  foreach(header cuda.h nvrtc.h)
    string(MAKE_C_IDENTIFIER ${header} name)
    find_path(WEFT_CUDA_${name} ${header}
              HINTS $ENV{WEFT_CUDA_PATH}/include /usr/local/cuda/include ${WEFT_CUDA_WHEELS}/include NO_DEFAULT_PATH)
    if(NOT WEFT_CUDA_${name})
      message(FATAL_ERROR "${header} of CUDA 13 was not found in /usr/local/cuda/include and ${WEFT_CUDA_WHEELS}/include: "
                          "run scripts/install-deps, which brings it, or configure with -DWEFT_CUDA=OFF")
    endif()
    list(APPEND WEFT_CUDA_INCLUDES ${WEFT_CUDA_${name}})
  endforeach()
  file(STRINGS ${WEFT_CUDA_cuda_h}/cuda.h version REGEX "^#define CUDA_VERSION [0-9]+$")
  string(REGEX MATCH "[0-9]+$" version "${version}")
  if(version LESS 13000)
    message(FATAL_ERROR "Weft needs the headers of CUDA 13, and ${WEFT_CUDA_cuda_h}/cuda.h is of version ${version}: set "
                        "WEFT_CUDA_PATH to a toolkit of CUDA 13, or configure with -DWEFT_CUDA=OFF")
  endif()
  list(REMOVE_DUPLICATES WEFT_CUDA_INCLUDES)
endif()
