# How this project's libraries and programs are compiled and linked.

option(FA_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)

add_compile_options(-Wall -Wextra -Wno-unused-parameter -fvisibility-inlines-hidden
                    -ffunction-sections -fdata-sections)
add_link_options(--ld-path=/usr/bin/ld.lld-22 -Wl,--gc-sections -static-libstdc++ -static-libgcc)
if(FA_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr,function -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# A file that uses a precompiled header is cached only if ccache may overlook which macros the
# header was compiled with, and macros of the time; the header's own hash is part of the key.
find_program(CCACHE ccache)
if(CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# The imported MLIR targets name both the static archives and the shared
# libraries; linking both would register every dialect twice. So the archives
# are named by file, and the linker takes from them what is used.
file(GLOB FA_MLIR_ARCHIVES "${LLVM_LIBRARY_DIR}/libMLIR*.a")
file(GLOB FA_LLVM_ARCHIVES "${LLVM_LIBRARY_DIR}/libLLVM*.a")
list(FILTER FA_MLIR_ARCHIVES EXCLUDE REGEX "libMLIRCAPI|_runner_utils|libMLIRMlirOptMain")
find_library(FA_ZLIB libz.a REQUIRED)
find_library(FA_ZSTD libzstd.a REQUIRED)

add_library(fa_llvm INTERFACE)
target_link_libraries(fa_llvm INTERFACE
  -Wl,--start-group ${FA_MLIR_ARCHIVES} ${FA_LLVM_ARCHIVES} -Wl,--end-group
  ${FA_ZLIB} ${FA_ZSTD} pthread dl m)

# fa_add_precompiled_headers(name header...): the core headers of MLIR, and others, compiled
# once: a file of the lowering to NVVM then takes 2 s in place of 12.
file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/fa_pch.cpp" CONTENT "// empty\n")
function(fa_add_precompiled_headers name)
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/fa_pch.cpp")
  target_precompile_headers(${name} PRIVATE
    <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/OpImplementation.h>
    <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h>
    <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/LLVMIR/NVVMDialect.h> <mlir/Dialect/Vector/IR/VectorOps.h> ${ARGN})
  # The header is the same each time it is compiled, so that its users are found in the cache.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()
fa_add_precompiled_headers(fa_pch)

define_property(GLOBAL PROPERTY FA_LIBRARIES BRIEF_DOCS "the compiler's archives")

# fa_add_library(Name file.cpp ... [DEPENDS tablegen targets])
function(fa_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_precompile_headers(${name} REUSE_FROM fa_pch)
  add_dependencies(${name} fa_tablegen)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY FA_LIBRARIES ${name})
endfunction()
