/* Runs a package on inputs of ones and prints the first numbers of each output.
 *
 *   cargo rustc -p tcc-runtime --lib --profile dist --crate-type cdylib
 *   cc -I runtime/include runtime/examples/c/main.c -o run-package -L target/dist -ltcc_runtime -Wl,-rpath,target/dist
 *   ./run-package model.tcc
 */
#include <stdio.h>
#include <stdlib.h>

#include "tcc.h"

static void check(tcc_status status) {
    if (status != TCC_OK) {
        fprintf(stderr, "error %d: %s\n", (int)status, tcc_error());
        exit(1);
    }
}

/* An input of f32 ones; sizes that the model leaves open are 1. */
static float *set_ones(tcc_context *context, size_t index, const tcc_io *info) {
    int64_t shape[16];
    size_t count = 1;
    if (info->dtype != TCC_F32 || info->form != 0 || info->rank > 16) {
        fprintf(stderr, "input %s isn't a tensor of f32: this example only sets those\n", info->name);
        exit(1);
    }
    for (size_t axis = 0; axis < info->rank; axis++) {
        shape[axis] = info->dims[axis] < 0 ? 1 : info->dims[axis];
        count *= (size_t)shape[axis];
    }
    float *data = malloc(count * sizeof(float) + 1);
    if (data == NULL) exit(1);
    for (size_t i = 0; i < count; i++) data[i] = 1.0f;
    check(tcc_set_input(context, index, TCC_F32, shape, info->rank, data));
    return data;
}

static void print_output(const tcc_context *context, size_t index, const tcc_io *info) {
    tcc_tensor tensor;
    check(tcc_output(context, index, &tensor));
    printf("%s: shape", info->name);
    for (size_t axis = 0; axis < tensor.rank; axis++) printf(" %lld", (long long)tensor.shape[axis]);
    printf(", %zu bytes", tensor.bytes);
    if (tensor.dtype == TCC_F32) {
        const float *numbers = tensor.data;
        for (size_t i = 0; i < tensor.bytes / 4 && i < 8; i++) printf("%s%g", i ? " " : ": ", numbers[i]);
    }
    printf("\n");
}

int main(int argc, char **argv) {
    tcc_package *package;
    tcc_context *context;
    tcc_io info;
    if (argc != 2) {
        fprintf(stderr, "usage: %s MODEL.tcc\n", argv[0]);
        return 2;
    }
    check(tcc_package_open(argv[1], &package));
    check(tcc_context_create(package, 0, &context));
    size_t inputs = tcc_input_count(package);
    float **data = calloc(inputs + 1, sizeof(float *));
    if (data == NULL) return 1;
    for (size_t i = 0; i < inputs; i++) {
        check(tcc_input_info(package, i, &info));
        data[i] = set_ones(context, i, &info);
    }
    check(tcc_run(context));
    for (size_t i = 0; i < tcc_output_count(package); i++) {
        check(tcc_output_info(package, i, &info));
        print_output(context, i, &info);
    }
    for (size_t i = 0; i < inputs; i++) free(data[i]);
    free(data);
    tcc_context_destroy(context);
    tcc_package_close(package);
    return 0;
}
