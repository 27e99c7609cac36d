<prompt schema="trip-plan">
  <user><lisbon/>Plan our days.</user>
</prompt>
