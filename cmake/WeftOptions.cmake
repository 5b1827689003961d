# Flags that every target of Weft is built with.
find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE)
  # The sloppiness settings are what lets ccache serve files built with a precompiled header.
  set(launcher ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${WEFT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

add_library(weft_flags INTERFACE)
target_include_directories(weft_flags INTERFACE
  ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Werror -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A precompiled header changes when any header does; ccache needs its content, not its time stamp.
  target_compile_options(weft_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
# Assertions stay on in release builds of our own code: `assert` marks bugs of ours, never input.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

if(WEFT_SANITIZE)
  # What a sanitizer reports needs lines, not variables. Without optimisation the checks compile in less than half of
  # the time, which is more than the tests take longer.
  string(REPLACE "-O2 -g" "-O0 -gline-tables-only" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  # The libraries of LLVM are built without run-time type information.
  if(WEFT_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=vptr,function)
  endif()
endif()
find_program(WEFT_LD_LLD ld.lld-19)
if(WEFT_LD_LLD)
  add_link_options(-fuse-ld=${WEFT_LD_LLD})
endif()
