# CUDA's headers. Nothing of CUDA is linked: its libraries are loaded at first use. The headers are those of a toolkit,
# and those that the toolkit lacks are the ones that scripts/install-deps puts into build/cuda.
option(WEFT_CUDA "Compile kernels for CUDA devices; OFF builds without CUDA's headers" ON)
set(WEFT_CUDA_WHEELS ${CMAKE_SOURCE_DIR}/build/cuda)
if(WEFT_CUDA)
  # As in scripts/install-deps: a toolkit of another version is passed over.
  set(folders ${WEFT_CUDA_WHEELS}/include)
  set(toolkit /usr/local/cuda)
  if(NOT "$ENV{WEFT_CUDA_PATH}" STREQUAL "")
    set(toolkit $ENV{WEFT_CUDA_PATH})
  endif()
  set(is13 "")
  if(EXISTS ${toolkit}/include/cuda.h)
    file(STRINGS ${toolkit}/include/cuda.h is13 REGEX "^#define CUDA_VERSION 13[0-9][0-9][0-9]$")
  endif()
  if(is13)
    list(PREPEND folders ${toolkit}/include)
  endif()
  foreach(header cuda.h nvrtc.h)
    string(MAKE_C_IDENTIFIER ${header} name)
    unset(WEFT_CUDA_${name} CACHE) # which a build folder may have of another toolkit
    find_path(WEFT_CUDA_${name} ${header} PATHS ${folders} NO_DEFAULT_PATH NO_CACHE)
    if(NOT WEFT_CUDA_${name})
      list(JOIN folders " and " searched)
      message(FATAL_ERROR "${header} of CUDA 13 was not found in ${searched}: run scripts/install-deps, which brings it, "
                          "set WEFT_CUDA_PATH to a toolkit of CUDA 13, or configure with -DWEFT_CUDA=OFF")
    endif()
    list(APPEND WEFT_CUDA_INCLUDES ${WEFT_CUDA_${name}})
  endforeach()
  list(REMOVE_DUPLICATES WEFT_CUDA_INCLUDES)
  # Weft declares what it uses of cuBLASLt itself. Where the header is, here or in a folder that -DWEFT_CUBLASLT_INCLUDE
  # names, a test compares the two.
  find_path(WEFT_CUBLASLT_INCLUDE cublasLt.h PATHS ${folders} NO_DEFAULT_PATH NO_CACHE)
endif()
