# Installed as examples/CMakeLists.txt: builds the examples against the Weft that they were installed with.
#   cp -r PREFIX/share/doc/Weft/examples . && cmake -S examples -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build
cmake_minimum_required(VERSION 3.25)
project(WeftExamples LANGUAGES C CXX)
find_package(Weft REQUIRED COMPONENTS weft models runtime)

# What the larger programs share: options of the command line, drawn digits, charts.
add_library(example_common STATIC common/chart.cpp common/digits.cpp common/letters.cpp common/options.cpp common/pictures.cpp)
# The drawn pixels must be the same on every machine, so no fused multiply-add.
set_source_files_properties(common/digits.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
target_include_directories(example_common PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(example_common PUBLIC Weft::weft)

foreach(example cnn dcgan gpt_shakespeare graph lazy_tensors linear_regression lstm lstm_shakespeare mnist raw_kernel
        resnet_cifar10 resume save_step streams train_mlp vae)
  add_executable(${example} ${example}.cpp)
  target_link_libraries(${example} PRIVATE Weft::weft)
endforeach()
foreach(example cnn dcgan gpt_shakespeare lstm_shakespeare mnist resnet_cifar10 resume vae)
  target_link_libraries(${example} PRIVATE example_common)
endforeach()
foreach(example dcgan gpt_shakespeare lstm_shakespeare resnet_cifar10 vae)
  target_link_libraries(${example} PRIVATE Weft::models)
endforeach()

# What save_step wrote runs without the compiler.
add_executable(run_step run_step.c)
set_target_properties(run_step PROPERTIES C_STANDARD 11)
target_link_libraries(run_step PRIVATE Weft::runtime)
