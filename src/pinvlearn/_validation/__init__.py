"""The only room that checks user input.

What other rooms call is listed here, each imported ``as`` itself, which marks it as theirs.
"""

from pinvlearn._validation.blocks import check_block as check_block
from pinvlearn._validation.blocks import check_block_targets as check_block_targets
from pinvlearn._validation.entries import check_indices as check_indices
from pinvlearn._validation.entries import check_lengths as check_lengths
from pinvlearn._validation.entries import check_pairs as check_pairs
from pinvlearn._validation.entries import check_shape as check_shape
from pinvlearn._validation.entries import check_triplets as check_triplets
from pinvlearn._validation.entries import check_values as check_values
from pinvlearn._validation.homes import check_on_host as check_on_host
from pinvlearn._validation.homes import check_same_home as check_same_home
from pinvlearn._validation.homes import following as following
from pinvlearn._validation.homes import on_host as on_host
from pinvlearn._validation.images import check_image_shape as check_image_shape
from pinvlearn._validation.images import check_images as check_images
from pinvlearn._validation.magnitudes import check_finite as check_finite
from pinvlearn._validation.magnitudes import check_magnitude as check_magnitude
from pinvlearn._validation.magnitudes import check_real as check_real
from pinvlearn._validation.magnitudes import unmasked as unmasked
from pinvlearn._validation.magnitudes import warn_of_scales as warn_of_scales
from pinvlearn._validation.matrices import check_features as check_features
from pinvlearn._validation.matrices import check_kernel_matrix as check_kernel_matrix
from pinvlearn._validation.matrices import check_matrix as check_matrix
from pinvlearn._validation.matrices import check_row_by_row as check_row_by_row
from pinvlearn._validation.matrices import check_symmetric as check_symmetric
from pinvlearn._validation.memory import check_factor_memory as check_factor_memory
from pinvlearn._validation.memory import check_kernel_memory as check_kernel_memory
from pinvlearn._validation.memory import check_memory as check_memory
from pinvlearn._validation.parameters import check_alpha as check_alpha
from pinvlearn._validation.parameters import check_choice as check_choice
from pinvlearn._validation.parameters import check_count as check_count
from pinvlearn._validation.parameters import check_coverage as check_coverage
from pinvlearn._validation.parameters import check_decay as check_decay
from pinvlearn._validation.parameters import check_jobs as check_jobs
from pinvlearn._validation.parameters import check_nonnegative as check_nonnegative
from pinvlearn._validation.parameters import check_number as check_number
from pinvlearn._validation.parameters import check_positive as check_positive
from pinvlearn._validation.parameters import check_rank as check_rank
from pinvlearn._validation.parameters import check_rcond as check_rcond
from pinvlearn._validation.parameters import check_rng as check_rng
from pinvlearn._validation.parameters import check_share as check_share
from pinvlearn._validation.parameters import check_size as check_size
from pinvlearn._validation.parameters import check_sizes as check_sizes
from pinvlearn._validation.parameters import check_solver as check_solver
from pinvlearn._validation.parameters import check_stop as check_stop
from pinvlearn._validation.parameters import generator as generator
from pinvlearn._validation.rows import check_classes as check_classes
from pinvlearn._validation.rows import check_in_memory as check_in_memory
from pinvlearn._validation.rows import check_names as check_names
from pinvlearn._validation.rows import check_outputs as check_outputs
from pinvlearn._validation.rows import check_rows as check_rows
from pinvlearn._validation.rows import check_rows_and_targets as check_rows_and_targets
from pinvlearn._validation.rows import check_weights as check_weights
from pinvlearn._validation.rows import known_targets as known_targets
