<prompt schema="trip-plan">
  <user><seaside><lisbon/><split/></seaside>Plan our days.</user>
</prompt>
