# How every library and test of ours is compiled, said once.

function(atlas_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-restrict)  # g++ 12 warns of its own inlined std::string operator+ (GCC bug 105651)
  endif()
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  if(ATLAS_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
  if(ATLAS_FUZZ)
    target_compile_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# atlas_library(base deps...): src/base/*.cpp without the tests, as target atlas_base.
function(atlas_library folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  add_library(atlas_${folder} STATIC ${sources})
  atlas_options(atlas_${folder})
  target_link_libraries(atlas_${folder} PUBLIC ${ARGN})
endfunction()

function(atlas_test name sources)
  add_executable(${name} ${sources})
  atlas_options(${name})
  target_compile_definitions(${name} PRIVATE ATLAS_TESTDATA_DIR="${CMAKE_SOURCE_DIR}/testdata" ATLAS_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARGN} GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120)
endfunction()

# The version and commit, in a source of its own that is written again when the commit changes.
function(atlas_version)
  set(file ${CMAKE_BINARY_DIR}/generated/version.cpp)
  add_custom_target(write_version
    COMMAND ${CMAKE_COMMAND} -DOUT=${file} -DSOURCE=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} -P ${CMAKE_SOURCE_DIR}/cmake/version.cmake
    BYPRODUCTS ${file})
  add_library(atlas_version STATIC ${file})
  target_include_directories(atlas_version PUBLIC ${CMAKE_SOURCE_DIR}/src)
  add_dependencies(atlas_version write_version)
endfunction()

# The page's template, viewer/dist/page.html, in a source of its own. It is committed: the build needs no Node.
function(atlas_page_template target)
  set(file ${CMAKE_BINARY_DIR}/generated/page_template.cpp)
  set(template ${CMAKE_SOURCE_DIR}/viewer/dist/page.html)
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -DOUT=${file} -DSOURCE=${template} -P ${CMAKE_SOURCE_DIR}/cmake/page.cmake
    DEPENDS ${template} ${CMAKE_SOURCE_DIR}/cmake/page.cmake)
  target_sources(${target} PRIVATE ${file})
endfunction()
