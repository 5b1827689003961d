# cmake --install, and what find_package(Weft) finds afterwards: Weft::weft (the C++ interface with the compiler
# inside), Weft::models (networks written with it) and Weft::runtime (what a compiled package needs to run).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(WEFT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Weft)
# Headers of the runtime include each other as "runtime/...", so they get a folder of their own.
set(WEFT_RUNTIME_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/weft-runtime)

set(libraries weft_runtime)
target_include_directories(weft_runtime PUBLIC
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${WEFT_RUNTIME_INCLUDE_DIR}>)
set_target_properties(weft_runtime PROPERTIES EXPORT_NAME runtime)
target_compile_features(weft_runtime PUBLIC cxx_std_20)
if(TARGET weft)
  list(APPEND libraries weft weft_models)
  set_target_properties(weft_models PROPERTIES EXPORT_NAME models)
  target_compile_features(weft_models PUBLIC cxx_std_20)
  target_include_directories(weft PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(weft PUBLIC cxx_std_20)
endif()
# The libraries find each other and the tools find them wherever the prefix is moved to.
set_target_properties(${libraries} PROPERTIES INSTALL_RPATH $ORIGIN)
install(TARGETS ${libraries} EXPORT WeftTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
foreach(header support/CpuLevel support/DeviceName support/Point memory/CachingAllocator device/Device device/Registry threads/Executor queue/Buffer queue/Profiler
        queue/Queue package/Kernel package/Package plan/Image plan/State execution/Executable
        execution/StatefulExecutable)
  cmake_path(GET header PARENT_PATH room)
  install(FILES ${CMAKE_SOURCE_DIR}/runtime/${header}.h DESTINATION ${WEFT_RUNTIME_INCLUDE_DIR}/runtime/${room})
endforeach()

# The documents beside each other as in the tree, so that their links hold, and programs to copy.
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CONTRIBUTING.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
if(TARGET weft)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.cpp" PATTERN "*.c" PATTERN "*.h" PATTERN "*.mlir")
  install(FILES ${CMAKE_SOURCE_DIR}/cmake/InstalledExamples.cmake
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples RENAME CMakeLists.txt)
endif()

foreach(tool weft-opt weft-tool weft-cli)
  if(TARGET ${tool})
    set_target_properties(${tool} PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

install(EXPORT WeftTargets NAMESPACE Weft:: DESTINATION ${WEFT_CMAKE_DIR})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/WeftConfig.cmake.in
  ${CMAKE_BINARY_DIR}/WeftConfig.cmake INSTALL_DESTINATION ${WEFT_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/WeftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/WeftConfig.cmake ${CMAKE_BINARY_DIR}/WeftConfigVersion.cmake
  DESTINATION ${WEFT_CMAKE_DIR})
