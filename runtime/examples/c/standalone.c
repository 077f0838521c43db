/* Calls a model that is an object of its own: no runtime, no allocation, nothing to link but the object.
 *
 *   tcc compile runtime/examples/c/mlp.tcc --emit=obj,header --out-dir build
 *   cc -I build runtime/examples/c/standalone.c build/mlp.o -o build/standalone
 *   build/standalone
 */
#include <stdio.h>

#include "mlp.h"

/* All memory is the program's own. One arena serves one call at a time. */
static _Alignas(MLP_ARENA_ALIGN) unsigned char arena[MLP_ARENA_BYTES];

int main(void) {
    float x[MLP_INPUT_X_ELEMENTS], y[MLP_OUTPUT_Y_ELEMENTS];
    for (int i = 0; i < MLP_INPUT_X_ELEMENTS; i++)
        x[i] = (float)i / MLP_INPUT_X_ELEMENTS;

    mlp_inputs inputs = {.x = x};
    mlp_outputs outputs = {.y = y};
    int status = mlp_run(&inputs, &outputs, arena);
    if (status != MLP_OK) {
        fprintf(stderr, "mlp_run: status %d, see mlp.h\n", status);
        return 1;
    }
    for (int i = 0; i < MLP_OUTPUT_Y_ELEMENTS; i++)
        printf("%.7g\n", y[i]);
    return 0;
}
