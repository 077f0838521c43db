//! Sparse tensors, made dense: the few that models have are small constants.

use prost::bytes::Bytes;

use tcc_ir::diag::{Code, Diagnostic};

use super::external::ExternalFiles;

use super::proto::SparseTensorProto;
use super::tensor::{self, Tensor, TensorData};

/// The largest dense form that a sparse tensor may ask for: a few bytes of file can name any size.
const MAX_DENSE_BYTES: usize = 1 << 28;

/// Decodes `proto` to the dense tensor it stands for.
pub fn decode(proto: &SparseTensorProto, files: &mut ExternalFiles) -> Result<Tensor, Diagnostic> {
    let part = |part: &Option<_>, name: &str| {
        part.clone().ok_or_else(|| wrong(format!("a sparse tensor has no {name}")))
    };
    let values = tensor::decode(&part(&proto.values, "values")?, files)?;
    let indices = tensor::decode(&part(&proto.indices, "indices")?, files)?;
    let size = values.dtype.size();
    let TensorData::Bytes(stored) = &values.data else {
        return Err(Diagnostic::error(Code::FormatVersion, "sparse tensors of strings aren't supported"));
    };
    let (shape, numel) = tensor::checked_shape(&proto.dims, size)?;
    if numel.saturating_mul(size) > MAX_DENSE_BYTES {
        return Err(Diagnostic::error(
            Code::ResourceLimit,
            format!("a sparse tensor of shape {shape:?} takes more than {MAX_DENSE_BYTES} bytes when dense"),
        ));
    }
    let mut dense = vec![0; numel * size];
    for (nth, position) in positions(&indices, values.numel(), &shape, numel)?.into_iter().enumerate() {
        dense[position * size..][..size].copy_from_slice(&stored[nth * size..][..size]);
    }
    Ok(Tensor { dtype: values.dtype, shape, data: TensorData::Bytes(Bytes::from(dense)) })
}

/// The row-major position of each of the `n_values` stored values; the format has them ascend strictly.
fn positions(
    indices: &Tensor,
    n_values: usize,
    shape: &[usize],
    numel: usize,
) -> Result<Vec<usize>, Diagnostic> {
    let coordinates =
        indices.as_i64s().ok_or_else(|| wrong("the indices of a sparse tensor must be int64"))?;
    let outside = || wrong(format!("a sparse tensor has an index outside its shape {shape:?}"));
    let positions: Option<Vec<usize>> = match indices.shape[..] {
        [count] if count == n_values => coordinates
            .iter()
            .map(|&position| usize::try_from(position).ok().filter(|&position| position < numel))
            .collect(),
        [count, rank] if count == n_values && rank == shape.len() && rank > 0 => coordinates
            .chunks_exact(rank)
            .map(|coordinate| {
                coordinate.iter().zip(shape).try_fold(0, |position, (&index, &dim)| {
                    let index = usize::try_from(index).ok().filter(|&index| index < dim)?;
                    Some(position * dim + index)
                })
            })
            .collect(),
        _ => return Err(wrong("the indices of a sparse tensor don't match its values and shape")),
    };
    let positions = positions.ok_or_else(outside)?;
    if !positions.is_sorted_by(|a, b| a < b) {
        return Err(wrong("the indices of a sparse tensor must ascend without repeats"));
    }
    Ok(positions)
}

fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::FileMalformed, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::dtype::DataType;
    use crate::onnx::proto::TensorProto;

    fn sparse(dims: &[i64], index_dims: &[i64], indices: &[i64]) -> SparseTensorProto {
        SparseTensorProto {
            values: Some(TensorProto {
                data_type: Some(DataType::U8 as i32),
                dims: vec![2],
                int32_data: vec![7, 9],
                ..Default::default()
            }),
            indices: Some(TensorProto {
                data_type: Some(DataType::I64 as i32),
                dims: index_dims.to_vec(),
                int64_data: indices.to_vec(),
                ..Default::default()
            }),
            dims: dims.to_vec(),
        }
    }

    fn dense(proto: &SparseTensorProto) -> Result<TensorData, Diagnostic> {
        decode(proto, &mut ExternalFiles::none()).map(|tensor| tensor.data)
    }

    #[test]
    fn both_index_forms_give_the_same() {
        let expected = TensorData::Bytes(Bytes::from_static(&[0, 7, 0, 0, 0, 9]));
        assert_eq!(dense(&sparse(&[2, 3], &[2], &[1, 5])).unwrap(), expected);
        assert_eq!(dense(&sparse(&[2, 3], &[2, 2], &[0, 1, 1, 2])).unwrap(), expected);
    }

    #[test]
    fn bad_indices_and_sizes_are_refused() {
        for bad in [
            sparse(&[2, 3], &[2], &[1, 6]),
            sparse(&[2, 3], &[2], &[-1, 5]),
            sparse(&[2, 3], &[2], &[5, 1]),
            sparse(&[2, 3], &[2], &[1, 1]),
            sparse(&[2, 3], &[2, 2], &[0, 3, 1, 2]),
            sparse(&[2, 3], &[1], &[1]),
            sparse(&[2, 3], &[2, 1], &[1, 2]),
            SparseTensorProto { values: None, ..sparse(&[2, 3], &[2], &[1, 5]) },
        ] {
            assert_eq!(dense(&bad).unwrap_err().code, Code::FileMalformed);
        }
        assert_eq!(dense(&sparse(&[1 << 40], &[2], &[1, 5])).unwrap_err().code, Code::ResourceLimit);
    }
}
