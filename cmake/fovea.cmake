# Compiler settings of our own targets, and one function that makes a layer from a folder.

find_program(CCACHE ccache)
if(CCACHE)
  # The sloppiness lets ccache work with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      ${CCACHE})
endif()

add_library(fovea_flags INTERFACE)
target_include_directories(fovea_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(fovea_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports both wrongly: -Wrestrict for "literal" + std::string, -Wmaybe-uninitialized under
  # the sanitizers (GCC bugs 105329 and 105562).
  target_compile_options(fovea_flags INTERFACE -Wno-restrict)
endif()
# Contracting a*b+c into one rounding would make a result depend on which instruction set is
# dispatched; kernels ask for it where they want it.
target_compile_options(fovea_flags INTERFACE -ffp-contract=off -fno-math-errno)
if(FOVEA_WERROR)
  target_compile_options(fovea_flags INTERFACE -Werror)
endif()
if(FOVEA_SANITIZE)
  # Compiling takes most of the time of such a run, so only the folders of kernels are optimised
  # (fovea_layer); line numbers are enough to read a report.
  target_compile_options(fovea_flags INTERFACE -O0 -g1)
  set(FOVEA_OPTIMISED_LAYERS backend tensor data)
  target_compile_options(fovea_flags INTERFACE -fsanitize=${FOVEA_SANITIZE} -fno-omit-frame-pointer
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(fovea_flags INTERFACE -fsanitize=${FOVEA_SANITIZE})
  if(FOVEA_SANITIZE MATCHES undefined)
    target_compile_options(fovea_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
  target_compile_definitions(fovea_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()

if(FOVEA_FUZZ)
  target_compile_options(fovea_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# fovea_layer(NAME [DEPENDS layer...] [LIBRARIES target...]): the static library of src/NAME.
# DEPENDS are the layers whose headers its own headers and sources may include.
# LIBRARIES are third parties, which stay out of our headers unless listed in PUBLIC_LIBRARIES.
function(fovea_layer name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES;PUBLIC_LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  string(REPLACE "/" "_" target fovea_${name})
  list(TRANSFORM arg_DEPENDS PREPEND fovea_)
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE fovea_flags ${arg_DEPENDS})
    return()
  endif()
  if(FOVEA_SANITIZE AND name IN_LIST FOVEA_OPTIMISED_LAYERS)
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -O1)
  endif()
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC fovea_flags ${arg_DEPENDS} ${arg_PUBLIC_LIBRARIES}
                        PRIVATE ${arg_LIBRARIES})
endfunction()

# fovea_embed(LAYER NAME FILE): builds a file into a layer, whose sources see it as the bytes from
# fovea_NAME_begin to fovea_NAME_end.
function(fovea_embed layer embedded_name embedded_file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${layer}/embedded_${embedded_name}.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded.cpp.in ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${embedded_file})
  target_sources(fovea_${layer} PRIVATE ${source})
endfunction()

# fovea_programs(DEPENDS layer... [LIBRARIES target...]): one program for each source of this folder.
function(fovea_programs)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(TRANSFORM arg_DEPENDS PREPEND fovea_)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE "_" "-" name ${name})
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${arg_DEPENDS} ${arg_LIBRARIES})
  endforeach()
endfunction()

# fovea_tests(FOLDER DEPENDS layer... [LIBRARIES target...]): one Catch2 program for tests/FOLDER.
function(fovea_tests folder)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES" ${ARGN})
  if(FOVEA_SANITIZE MATCHES thread AND NOT folder IN_LIST FOVEA_TESTS_WITH_THREADS)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cpp)
  add_executable(${folder}-test ${sources})
  list(TRANSFORM arg_DEPENDS PREPEND fovea_)
  target_link_libraries(${folder}-test PRIVATE fovea_test_support ${arg_DEPENDS} ${arg_LIBRARIES})
  target_precompile_headers(${folder}-test REUSE_FROM fovea_test_support)
  set_target_properties(${folder}-test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${folder} COMMAND ${folder}-test "~[slow]" --use-colour no)
  if(folder IN_LIST FOVEA_TESTS_WITH_THREADS)
    add_dependencies(tests-with-threads ${folder}-test)
  endif()
endfunction()
