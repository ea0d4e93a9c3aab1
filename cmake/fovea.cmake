# Compiler settings of our own targets, and functions that make a layer, programs and tests from
# folders.

find_program(CCACHE ccache)
if(CCACHE)
  # The sloppiness, the sums beside precompiled headers and -fpch-preprocess let ccache work with
  # them. Paths below the checkout count from the build folder, so that another checkout on the same
  # machine, with its build folder at the same place in it, takes what this one has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_PCH_EXTSUM=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
endif()
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/spills ${CMAKE_CXX_COMPILER_LAUNCHER})

add_library(fovea_flags INTERFACE)
target_include_directories(fovea_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(fovea_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports both wrongly: -Wrestrict for "literal" + std::string, -Wmaybe-uninitialized under
  # the sanitizers (GCC bugs 105329 and 105562).
  target_compile_options(fovea_flags INTERFACE -Wno-restrict -fpch-preprocess)
  # The compiler looks for memory to free only above 512 MiB, which few sources need: a tenth of the
  # time of a build.
  target_compile_options(fovea_flags INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()
# Contracting a*b+c into one rounding would make a result depend on which instruction set is
# dispatched; kernels ask for it where they want it.
target_compile_options(fovea_flags INTERFACE -ffp-contract=off -fno-math-errno)
if(FOVEA_WERROR)
  target_compile_options(fovea_flags INTERFACE -Werror)
endif()
if(FOVEA_SANITIZE)
  # Line numbers are enough to read a report.
  target_compile_options(fovea_flags INTERFACE -g1)
  target_compile_options(fovea_flags INTERFACE -fno-omit-frame-pointer
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

# How much a folder is optimised, and which precompiled headers go with that. Hot is what the time of
# a run depends on: loops over elements, and what every operation passes through. The rest, which
# parses, plans, calls operations and prints, is compiled for longer than it runs.
if(FOVEA_SANITIZE)
  # Compiling takes most of the time of such a run, so only the folders of loops are optimised. For
  # the same reason undefined behaviour is looked for in full there alone, unless FOVEA_SANITIZE_ALL
  # is set; elsewhere without a check at every pointer (a third of the time; AddressSanitizer stops
  # at a null one that is read), and not in the code of tests (two fifths of theirs).
  set(FOVEA_HOT_LAYERS parallel tensor backend data)
  set(FOVEA_HOT_OPTIONS -O1 -fsanitize=${FOVEA_SANITIZE})
  set(FOVEA_COOL_OPTIONS -O0 -fsanitize=${FOVEA_SANITIZE})
  set(FOVEA_TEST_OPTIONS -O0 -fsanitize=${FOVEA_SANITIZE})
  if(FOVEA_SANITIZE MATCHES undefined AND NOT FOVEA_SANITIZE_ALL)
    list(APPEND FOVEA_COOL_OPTIONS -fno-sanitize=null,alignment)
    list(APPEND FOVEA_TEST_OPTIONS -fno-sanitize=undefined)
  endif()
else()
  set(FOVEA_HOT_LAYERS base parallel tensor backend autograd ops data metrics visualise explain)
  set(FOVEA_HOT_OPTIONS)
  # (GCC 12 takes a sixth less time with it than with -O1.)
  set(FOVEA_COOL_OPTIONS $<$<CONFIG:Release>:-Og>)
  # Tests are built once and run for seconds, most of them in the libraries.
  set(FOVEA_TEST_OPTIONS -O0)
endif()
set(FOVEA_PRECOMPILED <algorithm> <any> <array> <atomic> <charconv> <chrono> <cmath> <cstdint>
    <deque> <filesystem> <functional> <limits> <map> <memory> <mutex> <optional> <set> <span>
    <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>
    <fmt/ranges.h>)
set(FOVEA_TEST_HEADERS <catch2/catch.hpp>)

# A compiler writes other bytes into every folder for the same headers; ccache takes this sum for
# them, so that two checkouts share what they compile. All of these headers are the system's.
function(fovea_precompiled_sum target options)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch.sum
       CONTENT "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} \
${CMAKE_BUILD_TYPE} ${FOVEA_SANITIZE} ${FOVEA_PRECOMPILED} ${options} fmt ${fmt_VERSION} \
Catch2 ${Catch2_VERSION}\n")
endfunction()

# fovea_compile(TARGET HOT|COOL|TEST): sets both for a target that links fovea_flags. The first
# target of a kind precompiles the headers, all others reuse them: a compiler reads them only with
# the options they were made with.
function(fovea_compile target kind)
  target_compile_options(${target} PRIVATE ${FOVEA_${kind}_OPTIONS})
  get_property(owner GLOBAL PROPERTY FOVEA_${kind}_OWNER)
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${FOVEA_PRECOMPILED} ${FOVEA_${kind}_HEADERS})
    set_property(GLOBAL PROPERTY FOVEA_${kind}_OWNER ${target})
    fovea_precompiled_sum(${target} "${FOVEA_${kind}_OPTIONS};${FOVEA_${kind}_HEADERS}")
  endif()
endfunction()

# What is made of tables when the build is configured; an include directory of those who read it.
set(FOVEA_MADE ${PROJECT_BINARY_DIR}/made)

# fovea_special(SOURCE... OPTIONS option...): sources with options of their own, which therefore do
# without the precompiled headers and are in no batch.
function(fovea_special)
  cmake_parse_arguments(arg "" "" "OPTIONS" ${ARGN})
  set_property(SOURCE ${arg_UNPARSED_ARGUMENTS} APPEND PROPERTY COMPILE_OPTIONS ${arg_OPTIONS})
  set_property(SOURCE ${arg_UNPARSED_ARGUMENTS} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  set_property(SOURCE ${arg_UNPARSED_ARGUMENTS} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# fovea_join(TARGET [ROOMS folder...] [FAMILIES folder...]): compiles the target's sources, or those of
# ROOMS, in batches, so that headers are read and templates made once for several of them. A batch is
# a room, or part of a large one, so names in unnamed namespaces must differ within a folder. FAMILIES
# are folders of sources that are written alike, with the same names in each: they are compiled one by
# one.
function(fovea_join target)
  cmake_parse_arguments(arg "" "" "ROOMS;FAMILIES" ${ARGN})
  if(NOT FOVEA_UNITY)
    return()
  endif()
  set(most 10)  # sources in a batch
  get_target_property(sources ${target} SOURCES)
  set(rooms)
  list(FILTER sources EXCLUDE REGEX "^\\$<")  # objects of another target
  foreach(source ${sources})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH room)
    if(NOT room IN_LIST arg_FAMILIES AND (NOT arg_ROOMS OR room IN_LIST arg_ROOMS))
      list(APPEND rooms "${room}")
      list(APPEND "sources of ${room}" ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room ${rooms})
    list(LENGTH "sources of ${room}" count)
    math(EXPR batches "(${count} + ${most} - 1) / ${most}")
    string(MAKE_C_IDENTIFIER "${room}" name)
    foreach(source IN LISTS "sources of ${room}")
      math(EXPR count "${count} - 1")
      math(EXPR batch "${count} % ${batches}")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                  PROPERTIES UNITY_GROUP ${name}_${batch})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# fovea_layer(NAME [EXCEPT regex] [COOL room...] [DEPENDS layer...] [LIBRARIES target...]): the static
# library of src/NAME, without the sources that a regular expression names. COOL are rooms of a hot
# layer without loops over elements. DEPENDS are the layers whose headers its own headers and sources
# may include. LIBRARIES are third parties besides fmt, which stay out of our headers unless listed in
# PUBLIC_LIBRARIES.
function(fovea_layer name)
  cmake_parse_arguments(arg "" "EXCEPT" "COOL;DEPENDS;LIBRARIES;PUBLIC_LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX ${arg_EXCEPT})
  endif()
  list(TRANSFORM arg_DEPENDS PREPEND fovea_)
  if(arg_COOL AND name IN_LIST FOVEA_HOT_LAYERS)
    list(JOIN arg_COOL "|" rooms)
    set(cool ${sources})
    list(FILTER cool INCLUDE REGEX "/src/${name}/(${rooms})/")
    list(REMOVE_ITEM sources ${cool})
    add_library(fovea_${name}_cool OBJECT ${cool})
    target_link_libraries(fovea_${name}_cool PRIVATE fovea_flags ${arg_DEPENDS} fmt::fmt
                          ${arg_PUBLIC_LIBRARIES} ${arg_LIBRARIES})
    fovea_compile(fovea_${name}_cool COOL)
    fovea_join(fovea_${name}_cool)
    list(APPEND sources $<TARGET_OBJECTS:fovea_${name}_cool>)
  endif()
  add_library(fovea_${name} STATIC ${sources})
  target_link_libraries(fovea_${name} PUBLIC fovea_flags ${arg_DEPENDS} ${arg_PUBLIC_LIBRARIES}
                        PRIVATE fmt::fmt ${arg_LIBRARIES})
  if(name IN_LIST FOVEA_HOT_LAYERS)
    fovea_compile(fovea_${name} HOT)
  else()
    fovea_compile(fovea_${name} COOL)
  endif()
endfunction()

# fovea_embed(LAYER NAME FILE): builds a file into a layer, whose sources see it as the bytes from
# fovea_NAME_begin to fovea_NAME_end.
function(fovea_embed layer embedded_name embedded_file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${layer}/embedded_${embedded_name}.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded.cpp.in ${source} @ONLY)
  # A batch of sources would not know that it depends on the file.
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${embedded_file}
                              SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(fovea_${layer} PRIVATE ${source})
endfunction()

# fovea_embed_table(LAYER NAME FILE...): builds several files into a layer. NAME.def in FOVEA_MADE
# lists them: FOVEA_EMBEDDED(file name, name of its bytes).
function(fovea_embed_table layer table_name)
  set(list)
  foreach(file ${ARGN})
    get_filename_component(file_name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${table_name}_${file_name} embedded_name)
    fovea_embed(${layer} ${embedded_name} ${file})
    string(APPEND list "FOVEA_EMBEDDED(\"${file_name}\", ${embedded_name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${FOVEA_MADE}/${table_name}.def CONTENT "${list}#undef FOVEA_EMBEDDED\n")
endfunction()

# fovea_program(NAME SOURCE... DEPENDS layer...)
function(fovea_program name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  list(TRANSFORM arg_DEPENDS PREPEND fovea_)
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE fovea_apps ${arg_DEPENDS} fmt::fmt)
  fovea_compile(${name} COOL)
endfunction()

# fovea_tests(FOLDER DEPENDS layer... [LIBRARIES target...]): one Catch2 program for tests/FOLDER.
function(fovea_tests folder)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cpp)
  if(FOVEA_SANITIZE MATCHES thread)
    list(FILTER sources INCLUDE REGEX "${CMAKE_CURRENT_SOURCE_DIR}/(${FOVEA_TESTS_WITH_THREADS})")
  endif()
  if(folder IN_LIST FOVEA_TESTS_LEFT_OUT OR NOT sources)
    return()
  endif()
  add_executable(${folder}-test ${sources})
  list(TRANSFORM arg_DEPENDS PREPEND fovea_)
  target_link_libraries(${folder}-test PRIVATE fovea_test_support ${arg_DEPENDS} ${arg_LIBRARIES})
  fovea_compile(${folder}-test TEST)
  set_target_properties(${folder}-test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # (Sanitizers do not follow fibers.)
  set(filter "~[slow]~[opencl]")
  if(FOVEA_SANITIZE)
    string(APPEND filter "~[fibers]~[long]")
  endif()
  add_test(NAME ${folder} COMMAND ${folder}-test ${filter} --use-colour no)
  set_tests_properties(${folder} PROPERTIES ENVIRONMENT "${FOVEA_TEST_ENVIRONMENT}")
  add_dependencies(tests ${folder}-test)
endfunction()
