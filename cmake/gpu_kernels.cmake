# What is made of src/backend/gpu/kernels.def, in gpu_kernels/ of FOVEA_MADE: a header for each file
# of kernels, which compiles it for all of its dtypes; all_files.h, which includes them all; and for
# CUDA several sources, FOVEA_CUDA_SOURCES, which are compiled side by side.
set(FOVEA_GPU_KERNELS_DEF ${PROJECT_SOURCE_DIR}/src/backend/gpu/kernels.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${FOVEA_GPU_KERNELS_DEF})

# The files of the table, and of each its dtypes and its kernels.
set(FOVEA_GPU_FILES)
file(STRINGS ${FOVEA_GPU_KERNELS_DEF} entries REGEX "^FOVEA_GPU_")
foreach(entry ${entries})
  if(entry MATCHES "^FOVEA_GPU_FILE\\(([a-z0-9_]+), ([a-z0-9_]+)\\)$")
    list(APPEND FOVEA_GPU_FILES ${CMAKE_MATCH_1})
    set(dtypes_of_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    set(kernels_of_${CMAKE_MATCH_1})
  elseif(entry MATCHES "^FOVEA_GPU_KERNEL\\(([a-z0-9_]+), ([a-z0-9_]+)\\)$"
         AND CMAKE_MATCH_1 IN_LIST FOVEA_GPU_FILES)
    string(APPEND kernels_of_${CMAKE_MATCH_1} " use(${CMAKE_MATCH_2})")
  else()
    message(FATAL_ERROR "${FOVEA_GPU_KERNELS_DEF}: ${entry}: expected FOVEA_GPU_FILE(file, dtypes) \
or, below it, FOVEA_GPU_KERNEL(file, kernel)")
  endif()
endforeach()

set(all_files)
foreach(file ${FOVEA_GPU_FILES})
  set(dtypes ${dtypes_of_${file}})
  set(kernels ${kernels_of_${file}})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/gpu_kernel_file.h.in
                 ${FOVEA_MADE}/gpu_kernels/${file}.h @ONLY)
  string(APPEND all_files "#include \"gpu_kernels/${file}.h\"\n")
endforeach()
file(CONFIGURE OUTPUT ${FOVEA_MADE}/gpu_kernels/all_files.h CONTENT "${all_files}")

# A long file is a source of its own, short ones share one, up to so many bytes of text. The end of
# the table, which takes longest to compile, comes first.
set(bytes_of_source 10000)
set(FOVEA_CUDA_SOURCES)
set(includes)
set(bytes 0)
list(REVERSE FOVEA_GPU_FILES)
foreach(file ${FOVEA_GPU_FILES})
  string(APPEND includes "#include \"gpu_kernels/${file}.h\"\n")
  file(SIZE ${PROJECT_SOURCE_DIR}/src/backend/gpu/kernels/${file}.cl bytes_of_file)
  math(EXPR bytes "${bytes} + ${bytes_of_file}")
  list(GET FOVEA_GPU_FILES -1 last)
  if(bytes GREATER_EQUAL bytes_of_source OR file STREQUAL last)
    set(source ${FOVEA_MADE}/gpu_kernels/${file}.cu)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/gpu_kernels.cu.in ${source} @ONLY)
    list(APPEND FOVEA_CUDA_SOURCES ${source})
    set(includes)
    set(bytes 0)
  endif()
endforeach()
