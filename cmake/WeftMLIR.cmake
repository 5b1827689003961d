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

# The headers that nearly every compiler file includes, compiled once.
add_library(weft_mlir_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/MLIRPch.cpp)
add_library(weft_mlir_flags INTERFACE)
target_include_directories(weft_mlir_flags SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_options(weft_mlir_flags INTERFACE -fno-rtti)
target_link_libraries(weft_mlir_flags INTERFACE weft_flags)
target_link_libraries(weft_mlir_pch PRIVATE weft_mlir_flags)
target_precompile_headers(weft_mlir_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/MLIRPch.h)

# weft_reuse_compiler_headers(NAME): a program that includes them too. It is compiled like a library, as they are.
function(weft_reuse_compiler_headers name)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM weft_mlir_pch)
endfunction()

if(WEFT_COMPILER_FROM AND NOT EXISTS ${WEFT_COMPILER_FROM}/lib/libWeftIR.a)
  message(FATAL_ERROR "WEFT_COMPILER_FROM is ${WEFT_COMPILER_FROM}, which has no lib/libWeftIR.a: build it first, "
                      "as with scripts/build release")
endif()
# weft_add_compiler_library(NAME [SHARED_BY_THREADS] SOURCES... [LINK libs...]): a static part of the compiler.
# SHARED_BY_THREADS: it has threads, or locks of its own. The others run under the frontend's lock, one compilation at a
# time, so that a build under ThreadSanitizer may take them as they are (WEFT_COMPILER_FROM).
function(weft_add_compiler_library name)
  cmake_parse_arguments(ARG "SHARED_BY_THREADS" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  if(WEFT_COMPILER_FROM AND NOT ARG_SHARED_BY_THREADS)
    add_library(${name} STATIC IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${WEFT_COMPILER_FROM}/lib/lib${name}.a)
    target_link_libraries(${name} INTERFACE weft_mlir_flags ${ARG_LINK})
  else()
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC weft_mlir_flags ${ARG_LINK})
    target_precompile_headers(${name} REUSE_FROM weft_mlir_pch)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
