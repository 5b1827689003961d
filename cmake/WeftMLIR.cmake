# LLVM and MLIR 19. The package reports 19.1.7 as its version and accepts no range,
# so the version is checked here and not by find_package.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-19)
find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 19)
  message(FATAL_ERROR "Weft needs LLVM 19, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}: "
                      "install libmlir-19-dev, or set CMAKE_PREFIX_PATH to an LLVM 19")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
# LLVM's rules give their dependency files paths that are relative to the top of the build. CMake's newer policy would
# shift them by a folder, and every build would run the generators again.
cmake_policy(PUSH)
cmake_policy(SET CMP0116 OLD)
include(TableGen)
cmake_policy(POP)
include(AddLLVM)
include(AddMLIR)

# What the compiler's libraries link: LLVM and MLIR as shared libraries, or as archives, from which the linker takes
# what is used. MLIR's own targets name the shared LLVM as their dependency, so the files are named here instead.
set(WEFT_MLIR_LIBRARIES MLIR LLVM)
if(WEFT_STATIC)
  set(WEFT_MLIR_LIBRARIES)
  get_property(mlir_targets GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(target ${mlir_targets})
    if(TARGET ${target} AND NOT target MATCHES "Test|CAPI")
      get_target_property(kind ${target} TYPE)
      if(kind STREQUAL STATIC_LIBRARY)
        list(APPEND WEFT_MLIR_LIBRARIES $<TARGET_FILE:${target}>)
      endif()
    endif()
  endforeach()
  llvm_map_components_to_libnames(llvm_targets X86 Passes FrontendOpenMP JITLink Linker)
  list(APPEND WEFT_MLIR_LIBRARIES ${llvm_targets})
endif()

add_library(weft_mlir_flags INTERFACE)
target_include_directories(weft_mlir_flags SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_options(weft_mlir_flags INTERFACE -fno-rtti)
target_link_libraries(weft_mlir_flags INTERFACE weft_flags)

# The headers that nearly every file of the compiler includes, compiled once. To read MLIR's takes 2 s, the dialect's
# 1.4 s more, which is most of what a file of medium length takes.
function(weft_add_precompiled_headers name header)
  add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/Precompiled.cpp)
  target_link_libraries(${name} PRIVATE weft_mlir_flags)
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${header})
endfunction()
weft_add_precompiled_headers(weft_mlir_headers MlirHeaders.h)
weft_add_precompiled_headers(weft_dialect_headers DialectHeaders.h)
add_dependencies(weft_dialect_headers WeftOpsIncGen)

# weft_reuse_compiler_headers(NAME), weft_reuse_compiler_test_headers(NAME), weft_reuse_mlir_headers(NAME): a program, a
# test with GoogleTest, or what links no more than MLIR includes them too. It is compiled like a library, as they are.
macro(weft_reuse_headers name headers)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM ${headers})
endmacro()
function(weft_reuse_mlir_headers name)
  weft_reuse_headers(${name} weft_mlir_headers)
endfunction()
function(weft_reuse_compiler_headers name)
  weft_reuse_headers(${name} weft_dialect_headers)
endfunction()
if(WEFT_TESTS)
  find_package(GTest REQUIRED)
  weft_add_precompiled_headers(weft_compiler_test_headers CompilerTestHeaders.h)
  target_link_libraries(weft_compiler_test_headers PRIVATE GTest::gtest)
  add_dependencies(weft_compiler_test_headers WeftOpsIncGen)
endif()
function(weft_reuse_compiler_test_headers name)
  weft_reuse_headers(${name} weft_compiler_test_headers)
endfunction()

if(WEFT_COMPILER_FROM AND NOT EXISTS ${WEFT_COMPILER_FROM}/lib/libWeftIR.a)
  message(FATAL_ERROR "WEFT_COMPILER_FROM is ${WEFT_COMPILER_FROM}, which has no lib/libWeftIR.a: build it first, "
                      "as with scripts/build release")
endif()
# weft_add_compiler_library(NAME [UPSTREAM] [SHARED_BY_THREADS] SOURCES... [LINK libs...]): a static part of the compiler.
# UPSTREAM: it knows the dialects of MLIR only.
# SHARED_BY_THREADS: it has threads, or locks of its own. The others run under the frontend's lock, one compilation at a
# time, so that a build under ThreadSanitizer may take them as they are (WEFT_COMPILER_FROM).
function(weft_add_compiler_library name)
  cmake_parse_arguments(ARG "UPSTREAM;SHARED_BY_THREADS" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  if(WEFT_COMPILER_FROM AND NOT ARG_SHARED_BY_THREADS)
    add_library(${name} STATIC IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${WEFT_COMPILER_FROM}/lib/lib${name}.a)
    target_link_libraries(${name} INTERFACE weft_mlir_flags ${ARG_LINK})
  else()
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC weft_mlir_flags ${ARG_LINK})
    set(headers weft_dialect_headers)
    if(ARG_UPSTREAM)
      set(headers weft_mlir_headers)
    endif()
    target_precompile_headers(${name} REUSE_FROM ${headers})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
