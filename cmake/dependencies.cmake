# Third parties, all from the distribution's packages (tools/packages.txt lists their names).
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(xtl REQUIRED)
find_package(xtensor REQUIRED)
find_package(xsimd REQUIRED)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5)
# oneDNN is optional: without it products go to OpenBLAS, and bfloat16 is slow.
find_package(OpenMP COMPONENTS CXX)
find_path(DNNL_INCLUDE_DIR dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
find_path(STB_INCLUDE_DIR stb_image.h PATH_SUFFIXES stb REQUIRED)
# Debian has one header, one library and no description of them.
find_path(NIFTI_INCLUDE_DIR nifti1_io.h PATH_SUFFIXES nifti REQUIRED)
find_library(NIFTI_LIBRARY niftiio REQUIRED)
find_library(ZNZ_LIBRARY znz REQUIRED)
find_path(XTENSOR_BLAS_INCLUDE_DIR xtensor-blas/xlinalg.hpp REQUIRED)

# Third-party headers are not held to our warnings.
add_library(fovea_stb INTERFACE)
target_include_directories(fovea_stb SYSTEM INTERFACE ${STB_INCLUDE_DIR})
add_library(fovea_nifti INTERFACE)
target_link_libraries(fovea_nifti INTERFACE ${NIFTI_LIBRARY} ${ZNZ_LIBRARY})
target_include_directories(fovea_nifti SYSTEM INTERFACE ${NIFTI_INCLUDE_DIR})
add_library(fovea_xtensor INTERFACE)
target_link_libraries(fovea_xtensor INTERFACE xtensor)
target_include_directories(fovea_xtensor SYSTEM INTERFACE
  $<TARGET_PROPERTY:xtensor,INTERFACE_INCLUDE_DIRECTORIES>)
add_library(fovea_xtensor_blas INTERFACE)  # xt::linalg
target_link_libraries(fovea_xtensor_blas INTERFACE fovea_xtensor PkgConfig::OPENBLAS)
target_include_directories(fovea_xtensor_blas SYSTEM INTERFACE ${XTENSOR_BLAS_INCLUDE_DIR})

add_library(fovea_onednn INTERFACE)
if(OpenMP_CXX_FOUND AND DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  set(FOVEA_ONEDNN ON)
  target_link_libraries(fovea_onednn INTERFACE ${DNNL_LIBRARY} $<LINK_ONLY:OpenMP::OpenMP_CXX>)
  target_include_directories(fovea_onednn SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
else()
  set(FOVEA_ONEDNN OFF)
endif()
message(STATUS "oneDNN: ${FOVEA_ONEDNN}")

# The one font that labels in pictures are drawn with; it is built into the library.
find_file(FOVEA_FONT DejaVuSans.ttf
  PATHS /usr/share/fonts/truetype/dejavu /usr/share/fonts/dejavu /usr/share/fonts/TTF REQUIRED)

if(FOVEA_TESTS)
  find_package(Catch2 2 REQUIRED)
endif()
